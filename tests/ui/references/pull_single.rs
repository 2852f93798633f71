//! `pull` on a single reference.

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
    #[reference(on_delete = pull)]
    owner: Option<Ref<Person>>,
}

fn main() {}
