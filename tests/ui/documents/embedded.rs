//! Rule two: a document with a collection is not embedded.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    name: String,
}

#[derive(Document)]
#[document(collection="boxes")]
struct Parcel {
    id: ObjectId,
    thing: Thing,
}

fn main() {}
