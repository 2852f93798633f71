//! References in an embedded array.

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
    #[embed(max = 20)]
    owners: Vec<Ref<Person>>,
}

fn main() {}
