//! A name that MongoDB keeps for itself.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "system.users")]
struct Thing {
    id: ObjectId,
    name: String,
}

fn main() {}
