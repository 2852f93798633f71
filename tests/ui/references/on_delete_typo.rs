//! A rule of deletion that does not exist.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    email: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(on_delete = "cascade")]
    owner: Ref<Person>,
    #[reference(on_delete = delete)]
    other: Ref<Person>,
}

fn main() {}
