//! What other documents declare of one whose attribute has an error.
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;

#[derive(Document, Debug, Clone)]
#[document(collection = "authors", oops)]
struct Author {
    id: ObjectId,
    #[field(max_len = 10)]
    #[index(unique)]
    name: String,
    #[reference(many, max = 10, inverse = authors)]
    books: Vec<Ref<Book>>,
    #[subset(of = Review, limit = 3, order(-at), fields(text: String))]
    latest: Vec<LatestReview>,
    #[computed(count = Review)]
    reviews: i64,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "books")]
struct Book {
    id: ObjectId,
    #[reference(many, max = 10, inverse = books)]
    authors: Vec<Ref<Author>>,
    #[reference]
    #[denormalize(from = Author, fields(name: String))]
    first: FirstAuthor,
    #[reference(by = name)]
    named: Ref<Author, String>,
    #[reference(any(Author, Book))]
    about: AboutRef,
    #[subset(of = Note, limit = 3, order(-at), fields(text: String))]
    notes: Vec<BookNote>,
    #[computed(max = Note.at)]
    noted: Option<DateTime>,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "reviews")]
struct Review {
    id: ObjectId,
    #[parent_ref]
    author: Ref<Author>,
    at: DateTime,
    text: String,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "notes", oops)]
struct Note {
    id: ObjectId,
    #[parent_ref]
    book: Ref<Book>,
    at: DateTime,
    text: String,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[bucket(of = Author, size = -5)]
struct Visit {
    at: i32,
}

/// The structs of copies, whose attributes are what is wrong.
#[derive(Document, Debug, Clone)]
#[document(collection = "shelves")]
struct Shelf {
    id: ObjectId,
    #[subset(of = Label, limt = 3, order(-at), fields(at: DateTime))]
    labels: Vec<ShelfLabel>,
    #[reference]
    #[denormalize(from = Book, fields(noted: Option<DateTime>), synk = atomic)]
    first: FirstBook,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "labels")]
struct Label {
    id: ObjectId,
    #[parent_ref]
    shelf: Ref<Shelf>,
    at: DateTime,
}

async fn uses(odm: Odm, author: Author, visit: Visit, shelf: Shelf) -> odm::Result<()> {
    let authors = odm.collection::<Author>();
    authors.find_all().include(|a| (a.books, a.children::<Review>())).all().await?;
    let books = odm.collection::<Book>();
    books.find_all().include(|b| (b.authors, b.first, b.about, b.children::<Note>())).all().await?;
    odm.buckets::<Visit>().push(&author, visit).await?;
    odm.collection::<VisitBucket>().find_all().all().await?;
    let label: Option<&ShelfLabel> = shelf.labels.first();
    let first: FirstBook = shelf.first.clone();
    let _ = (label, first);
    let _ = odm::models![Author, Book, Review, Note];
    Ok(())
}

fn main() {}
