//! A tuple of copies.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    #[volatile]
    qty: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone)]
#[denormalize(from = Part)]
struct PartEntry(String, i32);

fn main() {}
