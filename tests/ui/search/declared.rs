//! Search and vector indexes that Atlas would refuse.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(
    collection = "books",
    search_index(fields(string(title), string(title))),
    search_index(dynamic),
    vector_index(name = "by_meaning", path = embedding, dimensions = 0, similarity = cosine),
    vector_index(name = "by_sound", path = embedding, dimensions = 9000, similarity = cosine),
    vector_index(name = "by_look", path = embedding, dimensions = 1536, similarity = cosine, filter(draft))
)]
struct Book {
    id: ObjectId,
    title: String,
    #[embed(max = 1000)]
    embedding: Vec<f32>,
    #[field(skip)]
    draft: bool,
}

fn main() {}
