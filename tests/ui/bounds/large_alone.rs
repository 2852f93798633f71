//! A reason without a bound.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(large = "read as a whole")]
    tags: Vec<String>,
}

fn main() {}
