//! Fields that Atlas would leave out of an index.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(
    collection = "books",
    search_index(fields(string(year), number(title), date(published.at), string(titel))),
    vector_index(name = "by_meaning", path = title, dimensions = 3, similarity = cosine, filter(yaer))
)]
struct Book {
    id: ObjectId,
    title: String,
    year: i32,
    #[embed]
    published: Published,
}

#[derive(Embed)]
struct Published {
    at: String,
}

fn main() {}
