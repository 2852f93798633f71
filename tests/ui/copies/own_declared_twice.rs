//! An attribute on a field that is a copy already.

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
    #[denormalize(from = id.name)]
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
