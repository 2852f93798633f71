//! A variant of an enum of documents holds references, and nothing that is derived of others yet.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "events")]
#[serde(tag = "type")]
enum Event {
    Login(Login),
    Purchase(Purchase),
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Login {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference]
    user: Ref<User>,
    #[denormalize(from = user.name)]
    user_name: String,
    #[computed(count = Purchase)]
    purchases: i64,
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Purchase {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    user: Ref<User>,
    #[reference(inverse = purchases)]
    login: Option<Ref<Event>>,
}

fn main() {}
