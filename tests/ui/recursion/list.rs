//! A type inside itself.
use odm::prelude::*;

#[derive(Embed)]
struct Node {
    name: String,
    #[embed(max = 10)]
    children: Vec<Node>,
}

fn main() {}
