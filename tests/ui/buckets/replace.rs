//! Another bucket in the place of one that the library made.

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

async fn wrong(odm: Odm, bucket: CommentBucket) -> odm::Result<()> {
    odm.bulk().replace(bucket).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
