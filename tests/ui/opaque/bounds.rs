//! An opaque value has no bound.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(opaque, max_len = 10)]
    extra: bson::Bson,
}

fn main() {}
