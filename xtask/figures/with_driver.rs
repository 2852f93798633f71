//! What `with_odm.rs` does, on the driver by hand, copies and subset included. `cargo xtask figures` compares the two.

use futures::TryStreamExt;
use mongodb::bson::{DateTime, doc, oid::ObjectId, serialize_to_bson};
use mongodb::options::IndexOptions;
use mongodb::{Collection, IndexModel};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Author {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    pub email: String,
    pub addresses: Vec<Address>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    pub city: String,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct AuthorEntry {
    pub id: ObjectId,
    pub name: String,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Book {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub title: String,
    pub authors: Vec<AuthorEntry>,
    pub tags: Vec<String>,
    pub stock: i32,
    pub published: DateTime,
    pub reviews: Vec<ReviewsEntry>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct ReviewsEntry {
    pub id: ObjectId,
    pub text: String,
    pub at: DateTime,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub book: ObjectId,
    pub at: DateTime,
    pub stars: i32,
    pub text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let uri = std::env::var("MONGODB_URI").expect("MONGODB_URI");
    let client = mongodb::Client::with_uri_str(uri).await?;
    let db = client.database("compile_driver");
    let (authors, books, reviews): (Collection<Author>, Collection<Book>, Collection<Review>) =
        (db.collection("authors"), db.collection("books"), db.collection("reviews"));
    let unique = IndexOptions::builder().unique(true).build();
    authors.create_index(IndexModel::builder().keys(doc! { "email": 1 }).options(unique).build()).await?;
    books.create_index(IndexModel::builder().keys(doc! { "published": 1 }).build()).await?;
    books.create_index(IndexModel::builder().keys(doc! { "authors.id": 1 }).build()).await?;
    reviews.create_index(IndexModel::builder().keys(doc! { "book": 1, "at": -1 }).build()).await?;

    // 1–3
    let kate = Author { id: ObjectId::new(), name: "Kate".into(), email: "kate@example.com".into(), addresses: vec![] };
    authors.insert_one(&kate).await?;
    let new = |n: i32| Book {
        id: ObjectId::new(),
        title: format!("Book {n}"),
        authors: vec![AuthorEntry { id: kate.id, name: kate.name.clone() }],
        tags: vec!["new".into()],
        stock: n,
        published: DateTime::from_millis(i64::from(n)),
        reviews: vec![],
    };
    let book = new(0);
    books.insert_one(&book).await?;
    books.insert_many((1..50).map(new).collect::<Vec<_>>()).await?;
    // 4–6
    for n in 0..12 {
        let review = Review { id: ObjectId::new(), book: book.id, at: DateTime::from_millis(n), stars: 4, text: "good".into() };
        let mut session = client.start_session().await?;
        session.start_transaction().await?;
        reviews.insert_one(&review).session(&mut session).await?;
        let entry = ReviewsEntry { id: review.id, text: review.text.clone(), at: review.at };
        let push = doc! { "$push": { "reviews": { "$each": [serialize_to_bson(&entry)?], "$sort": { "at": -1 }, "$slice": 10 } } };
        books.update_one(doc! { "_id": book.id }, push).session(&mut session).await?;
        session.commit_transaction().await?;
    }
    println!("{:?}", books.find_one(doc! { "_id": book.id }).await?);
    println!("{:?}", authors.find_one(doc! { "email": "kate@example.com" }).await?);
    // 7–10
    let some: Vec<Book> =
        books.find(doc! { "stock": { "$gt": 10 }, "tags": "new" }).sort(doc! { "published": -1 }).limit(10).await?.try_collect().await?;
    println!("{}",  some.len());
    println!("{}", books.count_documents(doc! { "stock": { "$lt": 5 } }).await?);
    let mut all = books.find(doc! {}).await?;
    while let Some(b) = all.try_next().await? {
        println!("{}", b.title);
    }
    let five: Vec<Book> = books.find(doc! {}).limit(5).await?.try_collect().await?;
    let ids: Vec<ObjectId> = five.iter().flat_map(|b| b.authors.iter().map(|a| a.id)).collect();
    let who: Vec<Author> = authors.find(doc! { "_id": { "$in": ids } }).await?.try_collect().await?;
    let joined: Vec<(&Book, Vec<&Author>)> =
        five.iter().map(|b| (b, b.authors.iter().filter_map(|a| who.iter().find(|w| w.id == a.id)).collect())).collect();
    println!("{}", joined.len());
    // 11–16
    books.update_one(doc! { "_id": book.id }, doc! { "$set": { "title": "Another" } }).await?;
    books.update_one(doc! { "_id": book.id }, doc! { "$inc": { "stock": 3 } }).await?;
    books.update_one(doc! { "_id": book.id }, doc! { "$push": { "tags": "old" } }).await?;
    books.update_one(doc! { "_id": book.id }, doc! { "$pull": { "tags": "new" } }).await?;
    let address = serialize_to_bson(&Address { street: "1 Main".into(), city: "X".into() })?;
    authors.update_one(doc! { "_id": kate.id, "addresses.4": { "$exists": false } }, doc! { "$push": { "addresses": address } }).await?;
    let mut session = client.start_session().await?;
    session.start_transaction().await?;
    authors.update_one(doc! { "_id": kate.id }, doc! { "$set": { "name": "Kate M." } }).session(&mut session).await?;
    books
        .update_many(doc! { "authors.id": kate.id }, doc! { "$set": { "authors.$[a].name": "Kate M." } })
        .array_filters([doc! { "a.id": kate.id }])
        .session(&mut session)
        .await?;
    session.commit_transaction().await?;
    // 17–20
    books.update_many(doc! { "stock": 0 }, doc! { "$set": { "stock": 1 } }).await?;
    let mut one = authors.find_one(doc! { "_id": kate.id }).await?.expect("inserted");
    one.name = "Kate N.".into();
    authors.replace_one(doc! { "_id": one.id }, &one).await?;
    let mut session = client.start_session().await?;
    session.start_transaction().await?;
    books.update_one(doc! { "_id": book.id }, doc! { "$inc": { "stock": -1 } }).session(&mut session).await?;
    reviews.delete_many(doc! { "stars": { "$lt": 2 } }).session(&mut session).await?;
    session.commit_transaction().await?;
    reviews.delete_many(doc! { "book": book.id }).await?;
    books.delete_one(doc! { "_id": book.id }).await?;
    db.drop().await?;
    Ok(())
}
