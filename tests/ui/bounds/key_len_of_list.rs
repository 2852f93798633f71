//! A list has no keys.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 10, key_len = 10)]
    tags: Vec<String>,
}

fn main() {}
