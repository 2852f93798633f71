//! A bound above what an array should hold.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = owner, max = 100_000)]
    tasks: Vec<Ref<Task>>,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(inverse = tasks)]
    owner: Ref<Person>,
}

fn main() {}
