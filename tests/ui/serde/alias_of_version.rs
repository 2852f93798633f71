use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "pages", version)]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(alias = "revision")]
    version: i64,
}

fn main() {}
