//! No items at all.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 0)]
    tags: Vec<String>,
}

fn main() {}
