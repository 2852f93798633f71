//! A declared reference without a name.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Owner(#[reference] Ref<Person>);

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    owner: Owner,
}

fn main() {}
