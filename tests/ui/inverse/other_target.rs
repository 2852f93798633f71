//! The other side refers to another document.

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
    #[reference(inverse = tasks)]
    owner: Ref<Team>,
}

#[derive(Document)]
#[document(collection = "teams")]
struct Team {
    id: ObjectId,
    #[reference(many, inverse = owner)]
    tasks: Vec<Ref<Task>>,
}

fn main() {}
