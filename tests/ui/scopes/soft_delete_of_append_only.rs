//! A document that never changes can't be marked as deleted.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "events", append_only, soft_delete)]
struct Event {
    #[serde(rename = "_id")]
    id: ObjectId,
    deleted_at: Option<DateTime>,
}

fn main() {}
