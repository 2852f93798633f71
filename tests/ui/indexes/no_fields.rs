//! An index names its fields.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", index(unique))]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
