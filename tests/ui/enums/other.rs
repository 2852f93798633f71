//! Unknown variants would be overwritten.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
enum Kind {
    A,
    #[serde(other)]
    B,
}

fn main() {}
