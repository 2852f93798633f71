//! Most books have few buyers, and a bestseller has a hundred thousand.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "books")]
pub struct Book {
    #[serde(rename = "_id")]
    pub id: i32,
    pub title: String,
    #[embed(max = 50)]
    pub buyers: Vec<Buyer>, // the first fifty
    #[computed(sum = BuyerBucket.count)]
    pub more_buyers: i64, // how many buyers further documents hold: 0 for most books
}

/// Embedded in the book, and the item of `BuyerBucket`, the generated document that
/// holds up to fifty buyers more.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Book, size = 50)]
pub struct Buyer {
    pub name: String,
    pub at: DateTime,
}
