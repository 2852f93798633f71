//! The other side is by another field than the id.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = owner)]
    tasks: Vec<Ref<Task>>,
    #[index(unique)]
    email: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(by = email)]
    owner: Ref<Person, String>,
}

fn main() {}
