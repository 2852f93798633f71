//! Options that do not exist.

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
    #[reference(check_target = false)]
    owner: Ref<Person>,
    #[parent_ref(sort(-id))]
    other: Ref<Person>,
}

fn main() {}
