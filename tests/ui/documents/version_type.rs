//! A version is an `i64`.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", version)]
struct Thing {
    id: ObjectId,
    version: u32,
}

fn main() {}
