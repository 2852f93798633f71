//! An option that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(colection = "things")]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
