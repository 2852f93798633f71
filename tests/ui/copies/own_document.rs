//! A document as a struct of copies.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "parts")]
struct Part {
    id: ObjectId,
    name: String,
    #[volatile]
    qty: i32,
}

#[derive(Document, Clone)]
#[document(collection = "entries")]
#[denormalize(from = Part)]
struct PartEntry {
    id: ObjectId,
    name: String,
}

fn main() {}
