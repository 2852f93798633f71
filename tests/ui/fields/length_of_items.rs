//! The items have no length.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 3)]
    #[field(max_len = 10)]
    ages: Vec<i32>,
}

fn main() {}
