//! Books, who wrote them, and what they are about, as documents that refer to each other.

use crate::books::model::BookId;
use odm::prelude::*;

/// A person with books. Both sides know each other: few authors have more than a dozen books, and no book has
/// more than a dozen authors.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    pub id: i32,
    #[index(unique)]
    #[field(min_len = 1, max_len = 60)]
    pub name: String,
    #[reference(many, inverse = authors, max = 100)]
    pub books: Vec<Ref<Book>>,
}

/// A book.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books")]
pub struct Book {
    pub id: BookId,
    #[index]
    pub title: String,
    #[reference(many, inverse = books, max = 12)]
    pub authors: Vec<Ref<Author>>,
    /// One-way: the number of books of a category has no limit, so it does not list them.
    #[reference(many, max = 5)]
    pub categories: Vec<Ref<Category>>,
}

/// The subject of a book.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "categories")]
pub struct Category {
    pub id: i32,
    #[index(unique)]
    #[field(min_len = 1, max_len = 40)]
    pub name: String,
}
