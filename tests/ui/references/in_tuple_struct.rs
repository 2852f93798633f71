//! A reference in a struct without names.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Pair(#[reference] Ref<Person>, i32);

fn main() {}
