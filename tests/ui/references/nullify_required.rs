//! A required reference can't be removed.

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
    #[reference(on_delete = nullify)]
    owner: Ref<Person>,
}

fn main() {}
