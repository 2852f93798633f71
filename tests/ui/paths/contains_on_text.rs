//! A text has no items: the error names the conditions on what is in it.

use odm::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

fn main() {
    let _ = Person::paths().name.contains("Kate");
}
