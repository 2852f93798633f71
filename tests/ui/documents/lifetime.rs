//! A document owns its values.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing<'a> {
    id: ObjectId,
    name: &'a str,
}

fn main() {}
