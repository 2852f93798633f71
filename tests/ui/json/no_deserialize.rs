//! A `New…` struct that can't be read.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

fn main() {
    let _ = odm::json::from_str::<NewUser>("{}");
}
