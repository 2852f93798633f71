//! The field of `version` is missing.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", version)]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
