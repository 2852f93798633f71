//! An update that may insert a bucket.

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
    buckets.update(id).upsert().await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
