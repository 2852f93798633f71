//! The field of a scope in a bucket has a name and a type.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
    #[field(scope)]
    tenant: String,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, scope(tenant))]
struct Comment {
    text: String,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, scope(page: i32))]
struct Note {
    text: String,
}

fn main() {}
