//! The shortest is not above the longest.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[field(min_len = 10, max_len = 1)]
    name: String,
}

fn main() {}
