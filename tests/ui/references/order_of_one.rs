//! An order of one child.

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
    #[parent_ref(one, order(-time))]
    owner: Ref<Person>,
    time: DateTime,
}

fn main() {}
