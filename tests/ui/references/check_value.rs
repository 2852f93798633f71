//! `check` with something else than a truth value.

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
    #[reference(check = "no", index = 0)]
    owner: Ref<Person>,
}

fn main() {}
