//! `inverse` in an embedded struct.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Note {
    #[reference(inverse = notes)]
    author: Ref<Person>,
}

fn main() {}
