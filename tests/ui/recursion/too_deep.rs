//! MongoDB nests 100 levels.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Node {
    #[embed(depth = 101)]
    next: Option<Box<Node>>,
}

fn main() {}
