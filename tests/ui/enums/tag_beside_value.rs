//! A tag stands beside fields.
use odm::prelude::*;

#[derive(Embed)]
#[embed(tag = "kind")]
enum Size {
    Number(i32),
}

fn main() {}
