//! `many` on a parent.

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
    #[parent_ref(many)]
    owners: Vec<Ref<Person>>,
}

fn main() {}
