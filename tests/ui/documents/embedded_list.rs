//! Rule two holds for the items of an array.
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
    #[embed(max = 3)]
    things: Vec<Thing>,
}

fn main() {}
