use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: ObjectId,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post)]
pub struct Comment {
    pub name: String,
    pub stars: i32,
    pub at: DateTime,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    #[serde(rename = "_id")]
    pub id: ObjectId,
}

async fn wrong(odm: Odm, post: User) -> odm::Result<()> {
    odm.buckets::<Comment>().count(&post).await?;
    Ok(())
}

fn main() {}
