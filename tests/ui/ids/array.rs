//! MongoDB takes no array as an id.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: Vec<i32>,
}

fn main() {}
