//! A deferred field stands alone in a document, as the type of a plain field.
use odm::prelude::*;

#[derive(Document, Clone, Debug)]
#[document(collection = "articles")]
struct Article {
    id: Deferred<i32>,
    #[reference]
    author: Deferred<Ref<Author>>,
    #[field(default)]
    pages: Deferred<i32>,
    first: i32,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "authors", timestamps)]
struct Author {
    id: i32,
    life: Deferred<String>,
    created_at: Deferred<DateTime>,
    updated_at: DateTime,
}

#[derive(Embed, Clone, Debug)]
struct Figure {
    data: Deferred<String>,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "plates")]
struct Plate {
    id: i32,
    #[embed(max = 3)]
    figures: Vec<Deferred<Figure>>,
    note: Option<Deferred<String>>,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "books")]
struct Book {
    id: i32,
    title: String,
    text: Deferred<String>,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "loans")]
struct Loan {
    id: i32,
    #[reference]
    book: Ref<Book>,
    #[denormalize(from = book.text)]
    text: String,
}

#[derive(Projection, Debug)]
#[projection(of = Book)]
struct Text {
    text: Deferred<String>,
}

fn main() {}
