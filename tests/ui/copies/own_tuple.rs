//! A tuple of copies.

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
struct PartEntry(String, i32);

fn main() {}
