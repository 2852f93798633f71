//! Many structs for one reference.

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
    #[reference]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

fn main() {}
