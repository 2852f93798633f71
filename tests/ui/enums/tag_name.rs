//! The tag has the name of a field.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Shape {
    A { #[serde(rename = "kind")] other: String },
}

fn main() {}
