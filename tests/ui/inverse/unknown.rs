//! `inverse` names a field that does not exist.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = onwer)]
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
