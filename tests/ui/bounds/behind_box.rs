//! Neither does a `Box`.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    tags: Box<std::collections::BTreeSet<String>>,
}

fn main() {}
