//! A value without a shape.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    extra: bson::Bson,
}

fn main() {}
