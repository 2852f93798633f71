//! Hooks of a bucket, whose items are pushed by single updates.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "posts")]
struct Post {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 20, before_write = check)]
struct Comment {
    #[field(max_len = 100)]
    text: String,
}

fn main() {}
