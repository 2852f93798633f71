//! Hooks of an embedded struct: a write is one of a whole document.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone)]
#[embed(before_write = check)]
struct Address {
    street: String,
}

fn main() {}
