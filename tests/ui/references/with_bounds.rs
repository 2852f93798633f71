//! `#[field]` on a reference.

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
    #[reference]
    #[field(max_len = 12)]
    owner: Ref<Person>,
    #[reference(many)]
    #[field(max = 20)]
    watchers: Vec<Ref<Person>>,
}

fn main() {}
