//! A reference is found by its stored name.

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
    #[parent_ref]
    #[field(name = "owner_id", alias = "person")]
    owner: Ref<Person>,
    #[embed]
    note: Note,
}

#[derive(Embed)]
struct Note {
    #[reference]
    #[field(alias = "writer")]
    author: Option<Ref<Person>>,
}

fn main() {}
