//! A rule of deletion that does not exist.

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
    #[reference(on_delete = "cascade")]
    owner: Ref<Person>,
    #[reference(on_delete = delete)]
    other: Ref<Person>,
    #[reference(on_delete(cascade))]
    third: Ref<Person>,
}

fn main() {}
