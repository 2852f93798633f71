//! A value without a shape.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    extra: bson::Bson,
}

fn main() {}
