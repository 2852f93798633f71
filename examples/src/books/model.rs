//! A library of books, as documents.

use mongodb::bson::DateTime;
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use std::fmt;

/// The bounds of [`Book`] once more, to count in the file what breaks them without the library's help.
pub mod bounds {
    pub const TITLE: usize = 60;
    pub const ISBN: std::ops::RangeInclusive<usize> = 9..=13;
    pub const PAGES: std::ops::RangeInclusive<i32> = 0..=2000;
    pub const URL: usize = 200;
    pub const SHORT: usize = 1000;
    pub const LONG: usize = 2500;
    pub const AUTHORS: usize = 6;
    pub const AUTHOR: usize = 60;
    pub const CATEGORIES: usize = 3;
    pub const CATEGORY: usize = 40;
}

/// A book.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books", index(fields(-published_date, -id)))]
#[document(rename_all = "camelCase")]
pub struct Book {
    /// As the file has it, so the application supplies it.
    pub id: BookId,
    #[field(min_len = 1, max_len = 60)]
    pub title: String,
    /// Sparse: any number of books may lack an ISBN.
    #[index(unique, sparse)]
    #[field(min_len = 9, max_len = 13)]
    #[field(skip_none)]
    pub isbn: Option<String>,
    /// 0 where it is not known.
    #[field(min = 0, max = 2000)]
    pub page_count: i32,
    #[field(skip_none)]
    pub published_date: Option<DateTime>,
    #[field(max_len = 200)]
    #[field(skip_none)]
    pub thumbnail_url: Option<String>,
    #[field(max_len = 1000)]
    #[field(skip_none)]
    pub short_description: Option<String>,
    #[field(max_len = 2500)]
    #[field(skip_none)]
    pub long_description: Option<String>,
    pub status: Status,
    #[index]
    #[embed(max = 6)]
    #[field(max_len = 60)]
    pub authors: Vec<String>,
    #[index]
    #[embed(max = 3)]
    #[field(max_len = 40)]
    pub categories: Vec<String>,
}

/// The file numbers most books, and gives some an ObjectId.
#[derive(Embed, Clone, Debug, PartialEq, Eq, Hash)]
#[embed(id)]
#[embed(untagged)]
pub enum BookId {
    /// A number of the publisher's.
    Number(i32),
    /// An id that a database made.
    Made(ObjectId),
}

impl fmt::Display for BookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BookId::Number(number) => number.fmt(f),
            BookId::Made(id) => id.fmt(f),
        }
    }
}

/// Whether a book can be bought, or is still being written.
#[derive(Embed, serde::Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Published.
    Publish,
    /// In the publisher's early access program.
    Meap,
}

/// The fields that a list of books shows.
#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Book)]
pub struct Shelf {
    pub id: BookId,
    pub title: String,
    pub published_date: Option<DateTime>,
}

impl Shelf {
    /// The day of publication, or that there is none.
    pub fn day(&self) -> String {
        match self.published_date.map(DateTime::try_to_rfc3339_string) {
            Some(Ok(text)) => text.chars().take(10).collect(),
            _ => "no date".to_owned(),
        }
    }
}
