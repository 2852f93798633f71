//! A name that MongoDB refuses.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "sys$tem")]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
