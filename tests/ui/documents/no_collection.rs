//! The collection is named.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
}

fn main() {}
