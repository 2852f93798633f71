//! A bucket beside those that the library makes.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: ObjectId,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
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
