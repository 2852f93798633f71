//! Only documents have projections.
use odm::prelude::*;

#[derive(Embed)]
struct Part {
    text: String,
}

#[derive(Projection)]
#[projection(of = Part)]
struct Text {
    text: String,
}

fn main() {}
