//! The collection is named.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
struct Thing {
    id: ObjectId,
}

fn main() {}
