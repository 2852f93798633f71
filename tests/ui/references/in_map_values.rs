//! References in the values of a map.

use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    email: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Note {
    #[reference]
    author: Ref<Person>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed(max = 20)]
    notes: HashMap<String, Note>,
}

fn main() {}
