//! The least is not above the greatest.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[field(min = 10, max = 1)]
    age: i32,
}

fn main() {}
