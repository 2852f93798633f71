//! The pages of a bucket are numbered on one shard.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
    tenant: String,
}

#[derive(Embed)]
#[bucket(of = Post, scope(tenant: String), shard_key(tenant, hashed(id)))]
struct Comment {
    text: String,
}

#[derive(Embed)]
#[bucket(of = Post, scope(tenant: String), shard_key(hashed(tenant)), check = false)]
struct Note {
    text: String,
}

fn main() {}
