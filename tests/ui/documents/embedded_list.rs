//! Rule two holds for the items of an array.
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
    #[embed(max = 3)]
    things: Vec<Thing>,
}

fn main() {}
