//! An order in an embedded struct.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Note {
    #[parent_ref(order(-time))]
    owner: Ref<Person>,
    time: DateTime,
}

fn main() {}
