//! A length is for strings and bytes.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[field(max_len = 10)]
    age: i32,
}

fn main() {}
