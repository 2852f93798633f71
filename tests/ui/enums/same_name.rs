//! Two variants of one name.
#![allow(unreachable_patterns)]
use odm::prelude::*;

#[allow(dead_code)]
#[derive(Embed)]
enum Kind {
    A,
    #[embed(name = "A")]
    B,
}

fn main() {}
