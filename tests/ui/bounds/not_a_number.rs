//! A bound is a number.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = "ten")]
    tags: Vec<String>,
}

fn main() {}
