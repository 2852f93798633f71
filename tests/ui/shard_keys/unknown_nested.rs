//! A field that an embedded struct has not.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Embed)]
struct Address {
    country: String,
}

#[derive(Document)]
#[document(collection = "orders", shard_key(address.land, id))]
struct Order {
    id: ObjectId,
    address: Address,
}

fn main() {}
