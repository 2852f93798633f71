//! More references than an array should hold: rule three.

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
    #[reference(many, max = 50_000)]
    watchers: Vec<Ref<Person>>,
}

fn main() {}
