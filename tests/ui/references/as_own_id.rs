//! A document whose id is that of another document of its own.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "nodes")]
struct Node {
    #[parent_ref(one)]
    #[serde(rename = "_id")]
    id: Ref<Node>,
}

fn main() {}
