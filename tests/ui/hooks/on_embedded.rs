//! Hooks of an embedded struct: a write is one of a whole document.

use odm::prelude::*;

#[derive(Embed, Clone)]
#[embed(before_write = check)]
struct Address {
    street: String,
}

fn main() {}
