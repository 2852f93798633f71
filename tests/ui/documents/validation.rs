//! A level that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", validation(level = loose))]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
