//! The same behind an alias.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

type Owner = Ref<Person>;

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(many, max = 20)]
    owner: Owner,
}

fn main() {}
