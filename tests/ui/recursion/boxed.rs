//! A type inside itself, behind a `Box`.
use odm::prelude::*;

#[derive(Embed)]
struct Node {
    next: Option<Box<Self>>,
}

fn main() {}
