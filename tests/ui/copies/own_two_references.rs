//! A second reference.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "parts")]
struct Part {
    id: ObjectId,
    name: String,
    #[volatile]
    qty: i32,
}

#[derive(Embed, Clone)]
#[denormalize(from = Part)]
struct PartEntry {
    id: Ref<Part>,
    name: String,
    #[reference]
    other: Ref<Product>,
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[reference(many, max = 20)]
    #[denormalize(from = Part)]
    parts: Vec<PartEntry>,
}

fn main() {}
