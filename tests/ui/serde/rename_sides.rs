//! One name for both directions.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[serde(rename(serialize = "a", deserialize = "b"))]
    name: String,
}

fn main() {}
