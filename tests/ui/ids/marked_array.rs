//! The content of an id must be an id too.
use odm::prelude::*;

#[derive(Embed, Clone, Debug)]
#[embed(id)]
struct Key(Option<i32>);

fn main() {}
