//! Only `delete` and `restore` write the time of a deletion.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts", soft_delete)]
struct Post {
    id: i32,
    deleted_at: Option<DateTime>,
}

fn wrong(posts: odm::Collection<Post>) {
    let _ = posts.update(1).set(|p| p.deleted_at, None::<DateTime>);
}

fn main() {}
