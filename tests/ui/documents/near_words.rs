//! Words of options that are mistyped, and one that is near to none.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts", validation(level = stict, action = warning))]
struct Post {
    id: ObjectId,
    #[reference(on_delete = casade)]
    author: Option<Ref<Post>>,
    #[reference(on_delete = forbid)]
    editor: Option<Ref<Post>>,
}

#[derive(Document)]
#[document(collection = "readings", time_series(time = at, granularity = minute))]
struct Reading {
    id: ObjectId,
    at: DateTime,
}

#[derive(Document)]
#[document(collection = "shelves")]
struct Shelf {
    id: ObjectId,
    #[subset(of = Post, limit = 3, order(-id), keep = frist)]
    posts: Vec<ObjectId>,
    #[computed(count = Post, consistency = eventully)]
    count: i64,
}

#[derive(Embed)]
#[bucket(of = Post, time = at, per = days)]
struct Visit {
    at: DateTime,
}

fn main() {}
