//! References in the values of a map.

use odm::prelude::*;
use std::collections::HashMap;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Note {
    #[reference]
    author: Ref<Person>,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[embed(max = 20)]
    notes: HashMap<String, Note>,
}

fn main() {}
