use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, sum(name, at, stars))]
pub struct Comment {
    #[field(max_len = 100)]
    pub name: Option<String>,
    pub stars: i32,
    pub at: DateTime,
}

fn main() {}
