//! Most books have few buyers, and a bestseller has a hundred thousand.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books")]
pub struct Book {
    pub id: i32,
    pub title: String,
    #[embed(max = 50)]
    pub buyers: Vec<Buyer>, // the first fifty
    #[computed(sum = BuyerBucket.count)]
    pub more_buyers: i64, // those in further documents: 0 for most books
}

/// Embedded in the book, and the item of `BuyerBucket`, the generated document that
/// holds up to fifty buyers more.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Book, size = 50)]
pub struct Buyer {
    pub name: String,
    pub at: DateTime,
}

/// Some data: a book with 52 buyers, and one with a single buyer.
pub async fn stocked(db: odm::mongodb::Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Book, BuyerBucket])?;
    odm.sync().await?;
    let buyer = |n: i64| Buyer {
        name: format!("buyer {n}"),
        at: DateTime::from_millis(n * 60_000),
    };
    let book = |id, title: &str, buyers: i64| NewBook {
        id,
        title: title.into(),
        buyers: (0..buyers).map(buyer).collect(),
    };
    let books = odm.collection::<Book>();
    let dune = books.insert(book(1, "Dune", 50)).await?;
    books.insert(book(2, "A Field Guide to Mosses", 1)).await?;
    odm.buckets::<Buyer>()
        .push_many(&dune, (50..52).map(buyer))
        .await?;
    Ok(odm)
}
