//! A document has an id.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    name: String,
}

fn main() {}
