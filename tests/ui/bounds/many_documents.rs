//! Rule three: many documents are not embedded.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Part {
    text: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 5000)]
    parts: Vec<Part>,
}

fn main() {}
