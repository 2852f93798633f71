use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: ObjectId,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post, sum(name, at, stars))]
pub struct Comment {
    #[field(max_len = 100)]
    pub name: Option<String>,
    pub stars: i32,
    pub at: DateTime,
}

fn main() {}
