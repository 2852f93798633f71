//! A field is named without quotes.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", index(fields("name")))]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
