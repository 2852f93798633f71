//! An array in a variant needs a bound too.
use odm::prelude::*;

#[derive(Embed)]
enum Kind {
    A { tags: Vec<String> },
    B(Vec<i32>),
}

fn main() {}
