//! A tag stands beside fields.
use odm::prelude::*;

#[derive(Embed)]
#[embed(tag = "kind")]
enum Size {
    Number(i32),
}

#[derive(Embed)]
struct Box3 {
    height: i32,
}

#[derive(Embed)]
#[embed(tag = "kind")]
enum Room {
    Known(Option<Box3>),
}

fn main() {}
