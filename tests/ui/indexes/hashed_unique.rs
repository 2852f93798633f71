//! A hashed index is never unique.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[index(hashed, unique)]
    name: String,
}

fn main() {}
