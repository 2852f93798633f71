use odm::prelude::*;
#[derive(Document)]
#[document(collection = "books")]
struct Book {
    id: i32,
    #[reference(many, inverse = books, max = 5)]
    categories: Vec<Ref<Category>>,
}

#[derive(Document)]
#[document(collection = "categories")]
struct Category {
    id: i32,
    #[reference(many, inverse = categories, max = 5_000, expected = 500_000)]
    books: Vec<Ref<Book>>, // error
}

fn main() {}
