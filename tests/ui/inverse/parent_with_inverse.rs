//! A parent reference with an inverse.

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
    #[parent_ref(inverse = tasks)]
    owner: Ref<Person>,
}

fn main() {}
