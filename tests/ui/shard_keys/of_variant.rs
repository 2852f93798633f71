//! The key of an enum is declared on the enum.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events", common(tenant: String))]
enum Event {
    Login(Login),
}

#[derive(Document)]
#[document(variant_of = Event, shard_key(hashed(tenant)))]
struct Login {
    id: ObjectId,
    tenant: String,
}

fn main() {}
