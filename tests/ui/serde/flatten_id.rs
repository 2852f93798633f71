//! A flattened struct with a field `id`, which is the name of `_id` in JSON.
use odm::prelude::*;

#[derive(Embed)]
struct Origin {
    id: String,
    system: String,
}

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: ObjectId,
    #[field(flatten)]
    origin: Origin,
}

fn main() {}
