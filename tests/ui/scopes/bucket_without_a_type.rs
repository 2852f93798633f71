//! The field of a scope in a bucket has a name and a type.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "posts")]
struct Post {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(scope)]
    tenant: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post, scope(tenant))]
struct Comment {
    text: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Post, scope(page: i32))]
struct Note {
    text: String,
}

fn main() {}
