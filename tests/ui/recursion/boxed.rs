//! A type inside itself, behind a `Box`.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Node {
    next: Option<Box<Self>>,
}

fn main() {}
