//! The fields of `timestamps` are missing.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", timestamps)]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
