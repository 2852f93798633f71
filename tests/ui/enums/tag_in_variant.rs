//! The struct in a variant has a field of the name of the tag that stands beside its fields.
use odm::prelude::*;

#[derive(Embed)]
#[embed(tag = "kind")]
enum Shape {
    Round(Circle),
    Boxed(Box<Square>),
}

#[derive(Embed)]
struct Circle {
    radius: f64,
    #[field(name = "kind")]
    sort: String,
}

#[derive(Embed)]
struct Square {
    #[field(flatten)]
    circle: Circle,
}

/// Under a name of its own it may have any.
#[derive(Embed)]
#[embed(tag = "kind", content = "shape")]
enum Beside {
    Round(Circle),
}

fn main() {}
