//! An array in a tuple has no bound.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    pair: (String, Vec<String>),
}

fn main() {}
