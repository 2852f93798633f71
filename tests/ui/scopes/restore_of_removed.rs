//! Only deletions that keep documents can be taken back.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "posts")]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
}

async fn wrong(posts: odm::Collection<Post>) -> odm::Result<()> {
    posts.restore(1).await?;
    Ok(())
}

fn main() {}
