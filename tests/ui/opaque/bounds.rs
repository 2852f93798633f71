//! An opaque value has no bound.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[field(opaque, max_len = 10)]
    extra: bson::Bson,
}

fn main() {}
