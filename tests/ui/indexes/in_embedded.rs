//! An embedded type has no collection.
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    #[index(unique)]
    text: String,
}

fn main() {}
