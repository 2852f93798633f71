//! A document without declared fields.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    extra: Option<bson::Document>,
}

fn main() {}
