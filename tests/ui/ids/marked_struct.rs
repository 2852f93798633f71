//! An id is one value.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[embed(id)]
struct Key {
    a: i32,
}

fn main() {}
