//! Fields that a shard key names and a document has not.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "orders", shard_key(tennant, hashed(region)))]
struct Order {
    id: ObjectId,
    tenant: String,
}

#[derive(Document)]
#[document(collection = "events", shard_key(user), common(tenant: String))]
enum Event {
    Login(Login),
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Login {
    id: ObjectId,
    tenant: String,
    user: String,
}

fn main() {}
