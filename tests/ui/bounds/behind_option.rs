//! An `Option` does not bound what it holds.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    tags: Option<Vec<String>>,
}

fn main() {}
