//! An id is no array, and a tuple is stored as one.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[embed(id)]
struct Key(i32, i32);

fn main() {}
