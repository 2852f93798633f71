//! The other side is stored as it is, so it can declare no reference.

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
    #[field(opaque)]
    owner: Ref<Person>,
}

fn main() {}
