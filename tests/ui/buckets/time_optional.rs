use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, time = at)]
pub struct Comment {
    pub at: Option<DateTime>,
}

fn main() {}
