//! The other side is no reference.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = owner, max = 500)]
    tasks: Vec<Ref<Task>>,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    owner: String,
}

fn main() {}
