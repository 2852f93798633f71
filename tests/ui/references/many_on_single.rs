//! `many` on a single reference.

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
    #[reference(many, max = 20)]
    owner: Ref<Person>,
}

fn main() {}
