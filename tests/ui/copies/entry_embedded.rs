//! Copies that are declared as embedded too.

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
    #[embed(max = 20)]
    #[reference(many)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

fn main() {}
