//! Unknown variants would be overwritten.
use odm::prelude::*;

#[derive(Embed)]
enum Kind {
    A,
    #[serde(other)]
    B,
}

fn main() {}
