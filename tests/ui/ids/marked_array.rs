//! The content of an id must be an id too.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[embed(id)]
struct Key(Option<i32>);

fn main() {}
