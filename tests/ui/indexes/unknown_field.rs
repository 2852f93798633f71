//! A field that does not exist.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", index(fields(nmae)))]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

fn main() {}
