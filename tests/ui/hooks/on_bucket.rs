//! Hooks of a bucket, whose items are pushed by single updates.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 20, before_write = check)]
struct Comment {
    #[field(max_len = 100)]
    text: String,
}

fn main() {}
