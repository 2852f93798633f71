//! Copies of an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Part {
    name: String,
    number: i32,
}

#[derive(Document)]
#[document(collection = "tools")]
struct Tool {
    id: ObjectId,
    #[reference]
    part: Ref<Part>,
    #[denormalize(from = part.name)]
    name: String,
    #[denormalize(from = part.number)]
    number: i32,
}

fn main() {}
