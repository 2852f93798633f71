//! Two documents whose references make structs of one name.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference]
    #[denormalize(from = Part, fields(name: String))]
    part: PartEntry,
}

fn main() {}
