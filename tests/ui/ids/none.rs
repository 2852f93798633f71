//! A document has an id.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    name: String,
}

fn main() {}
