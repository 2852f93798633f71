//! A name that MongoDB keeps for itself.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "system.users")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

fn main() {}
