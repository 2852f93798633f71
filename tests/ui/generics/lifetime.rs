//! An embedded value owns what it holds.
use odm::prelude::*;
use serde::Serialize;

#[derive(Embed, Serialize)]
struct Part<'a> {
    text: &'a str,
}

fn main() {}
