//! A struct of copies of an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Part {
    name: String,
}

#[derive(Embed, Clone)]
#[denormalize(from = Part)]
struct PartEntry {
    #[reference]
    id: Ref<Part>,
    name: String,
}

#[derive(Document)]
#[document(collection = "tools")]
struct Tool {
    id: ObjectId,
    #[reference(many, max = 20)]
    #[denormalize(from = Part)]
    parts: Vec<PartEntry>,
}

fn main() {}
