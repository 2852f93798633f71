//! Copies beside a reference to one of several documents.

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
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[reference(any(Part, Product))]
    #[denormalize(from = Part, fields(name: String))]
    part: PartEntry,
}

fn main() {}
