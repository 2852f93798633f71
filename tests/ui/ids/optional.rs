//! An id is always there.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: Option<ObjectId>,
}

fn main() {}
