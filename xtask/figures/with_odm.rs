//! Three documents and twenty operations with odm. `cargo xtask figures` builds this program and `with_driver.rs`, which does
//! the same on the driver by hand, and compares what the two cost the compiler. No package of the workspace holds them.

use futures::TryStreamExt;
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[index(unique)]
    pub email: String,
    #[embed(max = 5)]
    pub addresses: Vec<Address>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    pub city: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books", index(fields(published)))]
pub struct Book {
    pub id: ObjectId,
    #[field(max_len = 200)]
    pub title: String,
    #[reference(many, max = 10)]
    #[denormalize(from = Author, fields(name: String))]
    pub authors: Vec<AuthorEntry>,
    #[embed(max = 20)]
    pub tags: Vec<String>,
    #[field(min = 0)]
    #[volatile]
    pub stock: i32,
    pub published: DateTime,
    #[subset(of = Review, limit = 10, order(-at), fields(text: String, at: DateTime))]
    pub reviews: Vec<ReviewsEntry>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: ObjectId,
    #[parent_ref(order(-at), on_delete = cascade)]
    pub book: Ref<Book>,
    pub at: DateTime,
    #[field(min = 1, max = 5)]
    pub stars: i32,
    #[field(max_len = 2_000)]
    pub text: String,
}

#[tokio::main]
async fn main() -> odm::Result<()> {
    let uri = std::env::var("MONGODB_URI").expect("MONGODB_URI");
    let db = mongodb::Client::with_uri_str(uri).await?.database("compile_odm");
    let odm = Odm::new(db.clone(), models![Author, Book, Review])?;
    odm.sync().await?;
    let (authors, books, reviews) = (odm.collection::<Author>(), odm.collection::<Book>(), odm.collection::<Review>());

    // 1–3
    let kate = authors.insert(NewAuthor { name: "Kate".into(), email: "kate@example.com".into(), addresses: vec![] }).await?;
    let new = |n: i32| NewBook {
        title: format!("Book {n}"),
        authors: vec![kate.to_ref()],
        tags: vec!["new".into()],
        stock: n,
        published: DateTime::from_millis(i64::from(n)),
    };
    let book = books.insert(new(0)).await?;
    books.insert_many((1..50).map(new)).await?;
    // 4–6
    for n in 0..12 {
        reviews.insert(NewReview { book: book.to_ref(), at: DateTime::from_millis(n), stars: 4, text: "good".into() }).await?;
    }
    println!("{:?}", books.get(book.id).await?);
    println!("{:?}", authors.find(|a| a.email.eq("kate@example.com")).one().await?);
    // 7–10
    let some = books.find(|b| b.stock.gt(10) & b.tags.contains("new")).sort(|b| b.published.desc()).limit(10).all().await?;
    println!("{}",  some.len());
    println!("{}", books.find(|b| b.stock.lt(5)).count().await?);
    let mut all = books.find_all().stream().await?;
    while let Some(b) = all.try_next().await? {
        println!("{}", b.title);
    }
    let joined = books.find_all().limit(5).include(|b| b.authors).all().await?;
    println!("{}", joined.len());
    // 11–16
    books.update(book.id).set(|b| b.title, "Another").await?;
    books.update(book.id).inc(|b| b.stock, 3).await?;
    books.update(book.id).push(|b| b.tags, "old").await?;
    books.update(book.id).pull(|b| b.tags, "new").await?;
    authors.update(kate.id).push(|a| a.addresses, Address { street: "1 Main".into(), city: "X".into() }).await?;
    authors.update(kate.id).set(|a| a.name, "Kate M.").await?;
    // 17–20
    books.update_where(|b| b.stock.eq(0)).set(|b| b.stock, 1).await?;
    let mut one = authors.get(kate.id).await?.expect("inserted");
    one.name = "Kate N.".into();
    authors.replace(one).await?;
    odm.transaction(async |tx| {
        tx.collection::<Book>().update(book.id).inc(|b| b.stock, -1).await?;
        tx.collection::<Review>().delete_where(|r| r.stars.lt(2)).await?;
        Ok(())
    })
    .await?;
    books.delete(book.id).await?;
    db.drop().await?;
    Ok(())
}
