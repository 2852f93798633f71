//! Search and vector indexes that say too little, or another word.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "books", search_index)]
struct Nothing {
    #[serde(rename = "_id")]
    id: ObjectId,
    title: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "books", search_index(fields(title)))]
struct WithoutKind {
    #[serde(rename = "_id")]
    id: ObjectId,
    title: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "books", search_index(fields(text(title))))]
struct OtherKind {
    #[serde(rename = "_id")]
    id: ObjectId,
    title: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "books", vector_index(path = embedding, dimensions = 3))]
struct WithoutName {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 3)]
    embedding: Vec<f32>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "books", vector_index(name = "near", path = embedding, dimensions = 3, similarity = "cosine"))]
struct Quoted {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 3)]
    embedding: Vec<f32>,
}

fn main() {}
