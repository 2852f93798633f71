//! A reference to a struct that is no document.

use odm::prelude::*;

#[derive(Embed)]
struct Address {
    street: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference]
    home: Ref<Address>,
}

fn main() {}
