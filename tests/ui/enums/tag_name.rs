//! The tag has the name of a field.
use odm::prelude::*;

#[derive(Embed)]
#[embed(tag = "kind")]
enum Shape {
    A { #[serde(rename = "kind")] other: String },
}

fn main() {}
