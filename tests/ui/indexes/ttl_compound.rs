//! A TTL index has one field.
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", index(fields(at, name), expire_after = 60))]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
    name: String,
}

fn main() {}
