//! One bound of a kind.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[field(max_len = 10, max_len = 20)]
    name: String,
}

fn main() {}
