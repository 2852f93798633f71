//! `_id` has an index.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    #[index(unique)]
    id: ObjectId,
}

fn main() {}
