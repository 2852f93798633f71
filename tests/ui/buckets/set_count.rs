//! An update of what the library counts.

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

async fn wrong(buckets: odm::Collection<CommentBucket>, id: ObjectId) -> odm::Result<()> {
    buckets.update(id).set(|b| b.count, 7).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
