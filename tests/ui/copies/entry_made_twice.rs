//! Two documents whose references make structs of one name.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "parts")]
struct Part {
    id: ObjectId,
    name: String,
}

#[derive(Document)]
#[document(collection = "products")]
struct Product {
    id: ObjectId,
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: ObjectId,
    #[reference]
    #[denormalize(from = Part, fields(name: String))]
    part: PartEntry,
}

fn main() {}
