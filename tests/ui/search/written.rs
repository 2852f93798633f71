//! Search and vector indexes that say too little, or another word.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "books", search_index)]
struct Nothing {
    id: ObjectId,
    title: String,
}

#[derive(Document)]
#[document(collection = "books", search_index(fields(title)))]
struct WithoutKind {
    id: ObjectId,
    title: String,
}

#[derive(Document)]
#[document(collection = "books", search_index(fields(text(title))))]
struct OtherKind {
    id: ObjectId,
    title: String,
}

#[derive(Document)]
#[document(collection = "books", vector_index(path = embedding, dimensions = 3))]
struct WithoutName {
    id: ObjectId,
    #[embed(max = 3)]
    embedding: Vec<f32>,
}

#[derive(Document)]
#[document(collection = "books", vector_index(name = "near", path = embedding, dimensions = 3, similarity = "cosine"))]
struct Quoted {
    id: ObjectId,
    #[embed(max = 3)]
    embedding: Vec<f32>,
}

fn main() {}
