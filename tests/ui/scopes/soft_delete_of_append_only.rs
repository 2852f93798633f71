//! A document that never changes can't be marked as deleted.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events", append_only, soft_delete)]
struct Event {
    id: ObjectId,
    deleted_at: Option<DateTime>,
}

fn main() {}
