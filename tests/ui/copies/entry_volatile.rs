//! A field that changes often.

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
    #[reference(many, max = 20)]
    #[denormalize(from = Part, fields(name: String, qty: i32))]
    parts: Vec<PartEntry>,
}

fn main() {}
