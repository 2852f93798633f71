//! A field as the source of a whole struct.

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
#[denormalize(from = part.name)]
struct PartEntry {
    id: Ref<Part>,
    name: String,
}

fn main() {}
