use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    #[field(stored = i32, min_len = 5, max_len = 2)]
    id: String,
}

fn main() {}
