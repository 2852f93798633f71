//! An array as the argument of a generic type.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Wrapper<T> {
    inner: T,
}

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    tags: Wrapper<Vec<String>>,
}

fn main() {}
