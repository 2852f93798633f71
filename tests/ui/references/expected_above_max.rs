//! More references are expected than fit.

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
    #[reference(many, expected = 3_000)]
    watchers: Vec<Ref<Person>>,
}

fn main() {}
