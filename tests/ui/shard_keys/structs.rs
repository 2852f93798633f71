//! A struct in a shard key.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Address {
    country: String,
}

#[derive(Document)]
#[document(collection = "orders", shard_key(address))]
struct Order {
    id: ObjectId,
    address: Address,
}

fn main() {}
