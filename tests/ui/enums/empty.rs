//! Nothing to store.
use odm::prelude::*;

#[derive(Embed)]
enum Kind {}

fn main() {}
