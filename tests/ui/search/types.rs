//! Fields that Atlas would leave out of an index.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(
    collection = "books",
    search_index(fields(string(year), number(title), date(published.at), string(titel))),
    vector_index(name = "by_meaning", path = title, dimensions = 3, similarity = cosine, filter(yaer))
)]
struct Book {
    #[serde(rename = "_id")]
    id: ObjectId,
    title: String,
    year: i32,
    #[embed]
    published: Published,
}

#[derive(Embed, Serialize, Deserialize)]
struct Published {
    at: String,
}

fn main() {}
