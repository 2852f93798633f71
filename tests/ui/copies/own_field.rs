//! A field as the source of a whole struct.

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
#[denormalize(from = part.name)]
struct PartEntry {
    id: Ref<Part>,
    name: String,
}

fn main() {}
