//! A struct that does not say that it is of copies.

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
struct PartEntry {
    #[reference]
    id: Ref<Part>,
    name: String,
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
