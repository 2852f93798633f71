//! A text under a collation.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "orders", shard_key(hashed(tenant)), collation(locale = "en", strength = 2))]
struct Order {
    id: ObjectId,
    tenant: String,
}

fn main() {}
