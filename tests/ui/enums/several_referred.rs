//! Documents refer to the enum: neither to one variant, nor with copies.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "events", common(at: DateTime))]
#[serde(tag = "type")]
enum Event {
    Login(Login),
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Login {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference]
    about: Ref<Event>,
    #[denormalize(from = about.at)]
    at: DateTime,
    #[reference]
    login: Ref<Login>,
}

fn main() {}
