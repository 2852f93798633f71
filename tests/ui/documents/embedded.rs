//! Rule two: a document with a collection is not embedded.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection="boxes")]
struct Parcel {
    #[serde(rename = "_id")]
    id: ObjectId,
    thing: Thing,
}

fn main() {}
