//! A kind that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", index(fields(fulltext(name))))]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
