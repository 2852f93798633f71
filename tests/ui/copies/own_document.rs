//! A document as a struct of copies.

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
#[document(collection = "entries")]
#[denormalize(from = Part)]
struct PartEntry {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

fn main() {}
