//! An update of what the library counts.

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

async fn wrong(buckets: odm::Collection<CommentBucket>, id: ObjectId) -> odm::Result<()> {
    buckets.update(id).set(|b| b.count, 7).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
