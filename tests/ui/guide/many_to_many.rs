use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Document, Serialize, Deserialize)]
#[document(collection = "books")]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(many, inverse = books, max = 5)]
    categories: Vec<Ref<Category>>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "categories")]
struct Category {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(many, inverse = categories, max = 5_000, expected = 500_000)]
    books: Vec<Ref<Book>>, // error
}

fn main() {}
