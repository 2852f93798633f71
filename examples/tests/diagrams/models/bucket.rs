use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: i32,
    pub title: String,
}

/// Generates the document `CommentBucket`, which holds up to 50 comments of a post.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 50, time = at, sum(stars))]
pub struct Comment {
    pub id: ObjectId, // tells one comment from another
    pub name: String,
    pub stars: i32,
    pub text: String,
    pub at: DateTime,
}
