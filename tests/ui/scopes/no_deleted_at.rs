//! The field of `soft_delete` is missing.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts", soft_delete)]
struct Post {
    id: ObjectId,
    title: String,
}

fn main() {}
