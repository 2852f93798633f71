//! Copies that are declared as embedded too.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    #[volatile]
    qty: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "products")]
struct Product {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 20)]
    #[reference(many)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

fn main() {}
