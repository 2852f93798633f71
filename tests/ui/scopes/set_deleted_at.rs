//! Only `delete` and `restore` write the time of a deletion.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "posts", soft_delete)]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
    deleted_at: Option<DateTime>,
}

fn wrong(posts: odm::Collection<Post>) {
    let _ = posts.update(1).set(|p| p.deleted_at, None::<DateTime>);
}

fn main() {}
