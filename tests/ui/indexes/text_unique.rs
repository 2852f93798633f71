//! A text index is never unique.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[index(text, unique)]
    name: String,
}

fn main() {}
