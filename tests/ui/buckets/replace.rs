//! Another bucket in the place of one that the library made.

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

async fn wrong(odm: Odm, bucket: CommentBucket) -> odm::Result<()> {
    odm.collection().replace(bucket).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
