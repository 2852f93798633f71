//! An option that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(maximum = 10)]
    tags: Vec<String>,
}

fn main() {}
