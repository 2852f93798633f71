//! Two variants of one name.
#![allow(unreachable_patterns)]
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[allow(dead_code)]
#[derive(Embed, Serialize, Deserialize)]
enum Kind {
    A,
    #[serde(rename = "A")]
    B,
}

fn main() {}
