//! Only documents have projections.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Part {
    text: String,
}

#[derive(Projection, Deserialize)]
#[projection(of = Part)]
struct Text {
    text: String,
}

fn main() {}
