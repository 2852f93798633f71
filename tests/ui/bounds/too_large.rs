//! The worst case is larger than a document can be.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = 100000)]
    #[field(max_len = 100)]
    tags: Vec<String>,
    #[field(max_len = 500)]
    name: String,
}

fn main() {}
