//! A document is a struct.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
enum Thing {
    A,
    B,
}

fn main() {}
