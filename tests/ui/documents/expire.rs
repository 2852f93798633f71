//! Documents expire by a field that is there, and that is a date.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tokens", expire = until)]
struct Token {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "carts", expire(field = changed, after = 60))]
struct Cart {
    #[serde(rename = "_id")]
    id: ObjectId,
    changed: i64,
}

fn main() {}
