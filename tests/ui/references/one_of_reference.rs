//! Options of `parent_ref` on a `reference`.

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
    #[reference(one)]
    owner: Ref<Person>,
    #[reference(order(-id))]
    other: Ref<Person>,
}

fn main() {}
