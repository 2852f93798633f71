//! The same field twice, two hashed ones, and no field.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "orders", shard_key(tenant, hashed(tenant)))]
struct Order {
    id: ObjectId,
    tenant: String,
}

#[derive(Document)]
#[document(collection = "carts", shard_key(hashed(tenant), hashed(id)))]
struct Cart {
    id: ObjectId,
    tenant: String,
}

#[derive(Document)]
#[document(collection = "users", shard_key)]
struct User {
    id: ObjectId,
}

fn main() {}
