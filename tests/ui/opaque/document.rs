//! A document without declared fields.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    extra: Option<bson::Document>,
}

fn main() {}
