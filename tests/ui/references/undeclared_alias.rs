//! The same behind an alias and an `Option`.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

type Owner = Option<Ref<Person>>;

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    owner: Owner,
}

fn main() {}
