//! A field that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", timestamps(created = since))]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
