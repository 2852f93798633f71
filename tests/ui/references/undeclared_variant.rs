//! A reference in a variant of an enum.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
enum Owner {
    Person(Ref<Person>),
    Unknown,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    owner: Owner,
}

fn main() {}
