//! Two variants of one name.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[allow(unreachable_patterns)]
#[derive(Embed, Serialize, Deserialize)]
enum Kind {
    A,
    #[serde(rename = "A")]
    B,
}

fn main() {}
