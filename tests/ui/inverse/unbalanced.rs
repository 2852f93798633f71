//! Many-to-many with one side that is much larger: relationship balance.

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
    #[reference(many, inverse = categories, max = 5_000, expected = 500_000)]
    books: Vec<Ref<Book>>,
}

fn main() {}
