//! A reference that is not stored as the id.

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
    #[field(opaque)]
    a: Ref<Person>,
    #[reference]
    #[field(with = "form")]
    b: Ref<Person>,
    #[reference]
    #[field(flatten)]
    c: Ref<Person>,
    #[reference]
    #[field(skip)]
    d: Option<Ref<Person>>,
}

fn main() {}
