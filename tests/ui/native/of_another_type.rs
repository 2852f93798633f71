//! The word on types that it does not store.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[serde(with = "odm::native")]
    name: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Span {
    #[serde(with = "odm::native")]
    ends: (chrono::DateTime<chrono::Utc>, i32),
}

fn main() {}
