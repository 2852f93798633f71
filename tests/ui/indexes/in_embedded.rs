//! An embedded type has no collection.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Part {
    #[index(unique)]
    text: String,
}

fn main() {}
