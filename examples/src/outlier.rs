//! Outlier: most books embed all of their buyers; a bestseller has further buyers in buckets, and a number that says so.
use mongodb::Database;
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

/// Adds a buyer to the book that the caller has read: into the book, or into a bucket if the book is full.
async fn sell(odm: &Odm, book: &Book, buyer: Buyer) -> odm::Result<()> {
    if book.more_buyers == 0 {
        let books = odm.collection::<Book>();
        match books.update(book.id).push(|b| b.buyers, buyer.clone()).await {
            Err(odm::Error::ArrayFull { .. }) => {} // an outlier from now on
            done => return done.map(drop),
        }
    }
    odm.buckets::<Buyer>().push(book, buyer).await.map(drop)
}

/// Removes a buyer, and returns whether there was one of this name.
async fn give_back(odm: &Odm, book: &Book, name: &str) -> odm::Result<bool> {
    let books = odm.collection::<Book>();
    let pulled = books
        .update(book.id)
        .pull_where(|b| b.buyers, |b| b.name.eq(name))
        .await?;
    if pulled.modified > 0 || book.more_buyers == 0 {
        return Ok(pulled.modified > 0);
    }
    Ok(odm.buckets::<Buyer>().delete(book, |b| b.name.eq(name)).await? > 0)
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Book, BuyerBucket])?;
    odm.sync().await?;
    let books = odm.collection::<Book>();
    for (id, title, buyers) in [(1, "Dune", 52), (2, "A tale of two people", 3)] {
        let book = books
            .insert(NewBook {
                id,
                title: title.into(),
                buyers: vec![],
            })
            .await?;
        for n in 0..buyers {
            let buyer = Buyer {
                name: format!("buyer {n}"),
                at: DateTime::from_millis(n),
            };
            sell(&odm, &book, buyer).await?;
        }
    }

    // The usual book is one document, and nothing more has to be read.
    let usual = books.get(2).await?.expect("it was inserted");
    assert_eq!((usual.buyers.len(), usual.more_buyers), (3, 0));
    show(&usual);

    // The outlier says by itself that there is more.
    let dune = books.get(1).await?.expect("it was inserted");
    assert_eq!((dune.buyers.len(), dune.more_buyers), (50, 2));
    show(&dune);
    let further = odm.buckets::<Buyer>().page(&dune, 1).await?;
    assert_eq!(further[0].name, "buyer 50");
    assert_eq!(
        books.find(|b| b.more_buyers.gt(0)).all().await?,
        std::slice::from_ref(&dune)
    );

    // An item is in the book or in a bucket.
    assert!(give_back(&odm, &dune, "buyer 3").await?);
    assert!(give_back(&odm, &dune, "buyer 51").await?);
    assert!(!give_back(&odm, &dune, "a stranger").await?);
    let dune = books.get(1).await?.expect("it was inserted");
    assert_eq!((dune.buyers.len(), dune.more_buyers), (49, 1));
    show(&dune);

    // The book with all of its buckets.
    assert_eq!(books.delete(1).await?.cascaded, 1);
    Ok(())
}

fn show(book: &Book) {
    println!(
        "{}: {} buyers in the book, {} in further documents",
        book.title,
        book.buyers.len(),
        book.more_buyers
    );
}
