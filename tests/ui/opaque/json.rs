//! JSON has no shape either.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    extra: serde_json::Value,
}

fn main() {}
