//! The type decides, not how it is written.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;

type Extra = bson::Bson;

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    extra: Extra,
}

fn main() {}
