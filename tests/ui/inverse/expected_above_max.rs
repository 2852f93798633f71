//! Many-to-many with a side that is larger than its bound.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "books")]
struct Book {
    id: ObjectId,
    #[reference(many, inverse = books, max = 5)]
    categories: Vec<Ref<Category>>,
}

#[derive(Document)]
#[document(collection = "categories")]
struct Category {
    id: ObjectId,
    #[reference(many, inverse = categories, expected = 4_000)]
    books: Vec<Ref<Book>>,
}

fn main() {}
