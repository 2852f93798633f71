//! Copies that are copies of themselves in the end: of two documents, and of one.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "authors")]
struct Author {
    id: ObjectId,
    #[reference]
    book: Ref<Book>,
    #[denormalize(from = book.author_name)]
    name: String,
    #[denormalize(from = book.title)]
    title: String,
}

#[derive(Document)]
#[document(collection = "books")]
struct Book {
    id: ObjectId,
    title: String,
    #[reference]
    author: Ref<Author>,
    #[denormalize(from = author.name)]
    author_name: String,
    #[denormalize(from = author.title, consistency = snapshot)]
    title_then: String,
}

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference]
    boss: Option<Ref<Person>>,
    #[denormalize(from = boss.department)]
    department: Option<String>,
}

fn main() {}
