//! A field that the document does not have.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Movie {
    #[serde(rename = "_id")]
    id: ObjectId,
    title: String,
    #[serde(rename = "y")]
    year: i32,
}

#[derive(Projection, Deserialize)]
#[projection(of = Movie)]
struct Part {
    titel: String,
}

fn main() {}
