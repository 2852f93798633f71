//! An embedded value owns what it holds.
use odm::prelude::*;

#[derive(Embed)]
struct Part<'a> {
    text: &'a str,
}

fn main() {}
