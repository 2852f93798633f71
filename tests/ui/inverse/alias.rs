//! The other side of a two-way reference is written by the library, under one name.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, inverse = owner)]
    #[serde(alias = "todo")]
    tasks: Vec<Ref<Task>>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(inverse = tasks)]
    owner: Option<Ref<Person>>,
}

fn main() {}
