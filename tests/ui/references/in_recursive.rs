//! A reference in a type that contains itself.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Comment {
    #[reference]
    author: Ref<Person>,
    #[embed(max = 5, depth = 3)]
    answers: Vec<Comment>,
}

fn main() {}
