//! A struct of copies of another document.

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
#[document(collection = "tools")]
struct Tool {
    id: ObjectId,
    name: String,
}

#[derive(Embed, Clone)]
#[denormalize(from = Tool)]
struct PartEntry {
    id: Ref<Tool>,
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
