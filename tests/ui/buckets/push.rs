//! An item that would not be counted.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 50)]
pub struct Comment {
    pub name: String,
}

async fn wrong(buckets: odm::Collection<CommentBucket>, id: ObjectId, comment: Comment) -> odm::Result<()> {
    buckets.update(id).push(|b| b.comments, comment).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
