//! A document owns its values.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::Serialize;

#[derive(Document, Serialize)]
#[document(collection = "things")]
struct Thing<'a> {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: &'a str,
}

fn main() {}
