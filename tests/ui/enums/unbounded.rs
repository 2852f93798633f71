//! An array in a variant needs a bound too.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
enum Kind {
    A { tags: Vec<String> },
    B(Vec<i32>),
}

fn main() {}
