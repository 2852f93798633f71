//! A descending field, and a kind that there is not.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "orders", shard_key(tenant, -at))]
struct Order {
    id: ObjectId,
    tenant: String,
    at: i32,
}

#[derive(Document)]
#[document(collection = "carts", shard_key(hash(tenant)))]
struct Cart {
    id: ObjectId,
    tenant: String,
}

#[derive(Document)]
#[document(collection = "users", shard_key(hashed(tenant, id)))]
struct User {
    id: ObjectId,
    tenant: String,
}

fn main() {}
