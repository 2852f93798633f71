//! An id is no array, and a tuple is stored as one.
use odm::prelude::*;

#[derive(Embed, Clone, Debug)]
#[embed(id)]
struct Key(i32, i32);

fn main() {}
