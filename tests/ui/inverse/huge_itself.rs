//! A field that is its own other side, and too large: there is no smaller side to keep.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = friends, max = 500, expected = 10_000)]
    friends: Vec<Ref<Person>>,
}

fn main() {}
