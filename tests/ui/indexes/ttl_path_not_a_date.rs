//! Documents expire by a date, also behind a path.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Part {
    text: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", index(fields(part.text), expire_after = 60))]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    part: Part,
}

fn main() {}
