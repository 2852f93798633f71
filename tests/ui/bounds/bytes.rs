//! Bytes are not an array.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    data: Vec<u8>,
}

fn main() {}
