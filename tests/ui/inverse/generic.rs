//! `inverse` in a document with parameters.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    name: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task<T> {
    id: ObjectId,
    what: T,
    #[reference(inverse = tasks)]
    owner: Ref<Person>,
}

fn main() {}
