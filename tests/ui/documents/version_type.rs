//! A version is an `i64`.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", version)]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    version: u32,
}

fn main() {}
