//! The time of a deletion is an `Option`: most documents have none.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts", soft_delete(removed))]
struct Post {
    id: ObjectId,
    removed: DateTime,
}

fn main() {}
