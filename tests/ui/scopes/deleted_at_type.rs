//! The time of a deletion is an `Option`: most documents have none.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "posts", soft_delete(removed))]
struct Post {
    #[serde(rename = "_id")]
    id: ObjectId,
    removed: DateTime,
}

fn main() {}
