//! A type of yours says that it is an id.
use odm::prelude::*;

#[derive(Embed, Clone, Debug)]
struct Isbn(String);

#[derive(Document)]
#[document(collection = "books")]
struct Book {
    id: Isbn,
}

fn main() {}
