//! Many-to-many with two sides that are too large: said once, of the first.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(many, inverse = fans, max = 5_000, expected = 20_000)]
    follows: Vec<Ref<Topic>>,
}

#[derive(Document)]
#[document(collection = "topics")]
struct Topic {
    id: ObjectId,
    #[reference(many, inverse = follows, max = 5_000, expected = 1_000_000)]
    fans: Vec<Ref<Person>>,
}

fn main() {}
