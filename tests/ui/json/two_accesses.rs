//! A field with two words for its way in JSON, a word on what the library writes, and one on a flattened struct.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users", version)]
struct User {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(read_only, write_only)]
    name: String,
    #[field(write_only)]
    version: i64,
    #[field(private)]
    #[serde(flatten)]
    address: Address,
    #[field(json = text)]
    city: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Address {
    street: String,
}

fn main() {}
