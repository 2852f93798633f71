//! A field that is its own other side, and whose bound alone is too small.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = friends, max = 500, expected = 1_000)]
    friends: Vec<Ref<Person>>,
}

fn main() {}
