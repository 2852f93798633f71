//! A reference as the argument of a generic type.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Dated<T> {
    value: T,
    since: DateTime,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    owner: Dated<Ref<Person>>,
}

fn main() {}
