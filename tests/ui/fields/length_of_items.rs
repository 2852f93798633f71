//! The items have no length.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 3)]
    #[field(max_len = 10)]
    ages: Vec<i32>,
}

fn main() {}
