//! Every document belongs to a scope, and its own field holds it.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: i32,
    #[field(scope)]
    tenant: Option<String>,
    #[field(scope, default = 7)]
    shard: i32,
    #[embed]
    place: Place,
}

#[derive(Embed)]
struct Place {
    #[field(scope)]
    tenant: String,
}

fn main() {}
