//! A time is a `DateTime`.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", timestamps)]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    created_at: String,
}

fn main() {}
