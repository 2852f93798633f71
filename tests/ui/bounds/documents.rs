//! An array of embedded documents without a bound.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    text: String,
}

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    parts: Vec<Part>,
}

fn main() {}
