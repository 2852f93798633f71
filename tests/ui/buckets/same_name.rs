use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, rename(parent = page))]
pub struct Comment {
    pub name: String,
    pub stars: i32,
    pub at: DateTime,
}

fn main() {}
