//! All fields are reported at once.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    tags: Vec<String>,
    notes: Vec<String>,
    links: Option<Vec<String>>,
}

fn main() {}
