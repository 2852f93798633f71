//! A variant that can't be written.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
enum Kind {
    A,
    #[serde(skip_serializing)]
    B,
}

fn main() {}
