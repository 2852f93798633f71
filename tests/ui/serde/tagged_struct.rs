//! A field that is not declared.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "type")]
struct Part {
    text: String,
}

fn main() {}
