//! `sparse` and `partial` exclude each other.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", index(fields(name), sparse, partial = |p| p.name.exists(true)))]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
