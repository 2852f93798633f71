//! Every document belongs to a scope, and its own field holds it.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "posts")]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
    #[field(scope)]
    tenant: Option<String>,
    #[field(scope, default = 7)]
    shard: i32,
    #[embed]
    place: Place,
}

#[derive(Embed, Serialize, Deserialize)]
struct Place {
    #[field(scope)]
    tenant: String,
}

fn main() {}
