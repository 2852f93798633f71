//! Two fields with one inverse.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = owner, max = 500)]
    tasks: Vec<Ref<Task>>,
    #[reference(many, inverse = owner)]
    old_tasks: Vec<Ref<Task>>,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(inverse = tasks)]
    owner: Ref<Person>,
}

fn main() {}
