//! All fields are reported at once.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    tags: Vec<String>,
    notes: Vec<String>,
    links: Option<Vec<String>>,
}

fn main() {}
