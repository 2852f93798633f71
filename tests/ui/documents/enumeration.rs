//! A document is a struct.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
enum Thing {
    A,
    B,
}

fn main() {}
