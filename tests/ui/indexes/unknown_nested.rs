//! A nested field that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Part {
    text: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", index(fields(part.txt, -part.text)))]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    part: Part,
}

fn main() {}
