//! A time is a `DateTime`.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", timestamps)]
struct Thing {
    id: ObjectId,
    created_at: String,
}

fn main() {}
