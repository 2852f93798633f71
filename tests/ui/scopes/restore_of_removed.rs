//! Only deletions that keep documents can be taken back.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: i32,
}

async fn wrong(posts: odm::Collection<Post>) -> odm::Result<()> {
    posts.restore(1).await?;
    Ok(())
}

fn main() {}
