//! `inverse` with `by`.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many)]
    tasks: Vec<Ref<Task>>,
    #[index(unique)]
    email: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(inverse = tasks, by = email)]
    owner: Ref<Person, String>,
}

fn main() {}
