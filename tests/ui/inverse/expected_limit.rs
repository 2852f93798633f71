//! One more than an array of ids should hold.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "books")]
struct Book {
    id: ObjectId,
    // As many as it should is accepted.
    #[reference(many, inverse = books, max = 5_000, expected = 5_000)]
    categories: Vec<Ref<Category>>,
}

#[derive(Document)]
#[document(collection = "categories")]
struct Category {
    id: ObjectId,
    #[reference(many, inverse = categories, max = 5_000, expected = 5_001)]
    books: Vec<Ref<Book>>,
}

fn main() {}
