//! One text index for a collection.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[index(text)]
    name: String,
    #[index(text)]
    note: String,
}

fn main() {}
