//! A type inside itself.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Node {
    name: String,
    #[embed(max = 10)]
    children: Vec<Node>,
}

fn main() {}
