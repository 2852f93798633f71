//! The struct in a variant has a field of the name of the tag that stands beside its fields.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Shape {
    Round(Circle),
    Boxed(Box<Square>),
}

#[derive(Embed, Serialize, Deserialize)]
struct Circle {
    radius: f64,
    #[serde(rename = "kind")]
    sort: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Square {
    #[serde(flatten)]
    circle: Circle,
}

/// Under a name of its own it may have any.
#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind", content = "shape")]
enum Beside {
    Round(Circle),
}

fn main() {}
