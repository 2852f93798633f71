//! A variant that can't be written.
use odm::prelude::*;

#[derive(Embed)]
enum Kind {
    A,
    #[serde(skip_serializing)]
    B,
}

fn main() {}
