//! More references with copies than a document should hold.

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
    #[reference(many, max = 9000)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

fn main() {}
