//! An array that can hold nothing.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(many, max = 0)]
    watchers: Vec<Ref<Person>>,
}

fn main() {}
