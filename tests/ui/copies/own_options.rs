//! Options of the reference on the field that holds the struct.

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
}

#[derive(Document, Clone)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[reference(many, max = 20, on_delete = pull, index = false)]
    #[denormalize(from = Part, consistency = eventual)]
    parts: Vec<PartEntry>,
}

fn main() {}
