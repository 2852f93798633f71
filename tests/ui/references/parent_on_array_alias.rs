//! The same behind an alias.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

type Owners = Vec<Ref<Person>>;

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[parent_ref]
    owners: Owners,
}

fn main() {}
