//! A search is the first stage, looks for words in texts, and compares values of the field's type.
use mongodb::bson::oid::ObjectId;
use odm::atlas::{equals, range, text};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "books", search_index(dynamic))]
struct Book {
    id: ObjectId,
    title: String,
    year: i32,
}

fn searches(books: Collection<Book>) {
    let _ = books.aggregate().search("default", |b| text("whale").path(b.title));
    let _ = books.search("default", |b| text("whale").path(b.year));
    let _ = books.search("default", |b| equals(b.year, "1851"));
    let _ = books.search("default", |b| range(b.year).gte("1851"));
    let _ = books.vector_search("by_meaning", |b| b.title, [0.5]);
}

fn main() {}
