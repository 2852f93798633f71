//! A bucket beside those that the library makes.

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

async fn wrong(buckets: odm::Collection<CommentBucket>, post: Post) -> odm::Result<()> {
    let new = NewCommentBucket {
        post: post.to_ref(),
        page: 1,
        count: 2,
        comments: vec![],
        room: 1,
    };
    buckets.insert(new).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
