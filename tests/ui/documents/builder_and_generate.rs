//! A builder of a struct with parameters, one with a field `build`, and functions that make other values than ids.
use odm::bson::Uuid;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "pairs", builder)]
struct Pair<T> {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed]
    left: T,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "houses", builder)]
struct House {
    #[serde(rename = "_id")]
    id: ObjectId,
    build: i32,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tokens")]
struct Token {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(generate = Uuid::new)]
    secret: Uuid,
}

#[derive(Embed, Serialize, Deserialize)]
struct Key {
    #[field(generate = Uuid::new)]
    value: Uuid,
}

fn main() {}
