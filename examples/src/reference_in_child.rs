//! A publisher has unboundedly many books: the book names its publisher. Validation is the server's, by level and action.
use mongodb::{
    Database,
    bson::{DateTime, doc},
};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "publishers")]
pub struct Publisher {
    pub id: String,
    pub name: String,
    pub founded: i32,
    pub location: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books", validation(level = moderate, action = error))]
pub struct Book {
    pub id: i64,
    #[field(max_len = 300)]
    pub title: String,
    #[embed(max = 20)]
    #[field(name = "author")]
    pub authors: Vec<String>,
    pub published_date: DateTime,
    #[field(min = 1, max = 5000)]
    pub pages: i32,
    #[parent_ref(order(-published_date))]
    #[field(name = "publisher_id")]
    pub publisher: Ref<Publisher>,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db.clone(), models![Publisher, Book])?;
    odm.sync().await?;
    let (publishers, books) = (odm.collection::<Publisher>(), odm.collection::<Book>());
    let oreilly = publishers
        .insert(NewPublisher {
            id: "oreilly".into(),
            name: "O'Reilly Media".into(),
            founded: 1980,
            location: "CA".into(),
        })
        .await?;
    books
        .insert(NewBook {
            id: 123456789,
            title: "MongoDB: The Definitive Guide".into(),
            authors: vec!["Kristina Chodorow".into(), "Mike Dirolf".into()],
            published_date: DateTime::from_millis(1_285_286_400_000),
            pages: 216,
            publisher: oreilly.to_ref(),
        })
        .await?;
    let shelf = books.children_of(&oreilly).all().await?;
    assert_eq!(shelf.len(), 1);
    println!("{} has published {}.", oreilly.name, shelf[0].title);

    // The client refuses before the network; the server refuses what reaches it by any other way.
    let none = books.update(123456789_i64).set(|b| b.pages, 0).await;
    assert!(matches!(none, Err(odm::Error::Invalid { .. })));
    if let Err(error) = none {
        println!("A book without pages: {error}");
    }
    let raw = db
        .collection("books")
        .insert_one(doc! { "_id": 2_i64, "title": "no pages" })
        .await;
    assert!(raw.is_err()); // error 121, from the validator that sync() installed
    Ok(())
}
