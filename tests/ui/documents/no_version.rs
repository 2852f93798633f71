//! The field of `version` is missing.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", version)]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

fn main() {}
