//! Indexes that the server takes and that then refuse documents, or that it has already.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things", index(fields(-id)), index(fields(text(title))))]
struct Thing {
    id: ObjectId,
    #[index(hashed)]
    #[embed(max = 10)]
    tags: Vec<i32>,
    #[index(default_language = "german")]
    title: String,
    language: String,
}

fn main() {}
