//! `sparse` and `partial` exclude each other.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", index(fields(name), sparse, partial = |p| p.name.exists(true)))]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

fn main() {}
