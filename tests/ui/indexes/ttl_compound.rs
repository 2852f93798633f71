//! A TTL index has one field.
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", index(fields(at, name), expire_after = 60))]
struct Thing {
    id: ObjectId,
    at: DateTime,
    name: String,
}

fn main() {}
