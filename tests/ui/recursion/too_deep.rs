//! MongoDB nests 100 levels.
use odm::prelude::*;

#[derive(Embed)]
struct Node {
    #[embed(depth = 101)]
    next: Option<Box<Node>>,
}

fn main() {}
