//! A reference below a type that contains itself.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
struct Signature {
    #[reference]
    author: Ref<Person>,
}

#[derive(Embed)]
struct Comment {
    #[embed]
    by: Signature,
    #[embed(max = 5, depth = 3)]
    answers: Vec<Comment>,
}

fn main() {}
