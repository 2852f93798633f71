use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "comments")]
#[bucket(of = Post)]
pub struct Comment {
    pub id: ObjectId,
}

fn main() {}
