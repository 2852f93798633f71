use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    #[field(max_len = 50)]
    name: String,
}

#[derive(Embed, Serialize, Deserialize, Clone)]
#[denormalize(from = Part)]
#[serde(deny_unknown_fields)]
struct Fitted {
    part: Ref<Part>,
    #[field(max_len = 50)]
    name: String,
}

fn main() {}
