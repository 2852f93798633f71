//! An array as an argument has no bound.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "pages")]
struct Page<T> {
    id: ObjectId,
    item: T,
}

fn collection<T: odm::Document>() {}

fn use_it() {
    collection::<Page<String>>();
    collection::<Page<Vec<String>>>();
}

fn main() {}
