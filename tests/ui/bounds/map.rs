//! A map without a bound.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    counts: std::collections::HashMap<String, i64>,
}

fn main() {}
