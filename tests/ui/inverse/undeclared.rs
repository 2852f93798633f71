//! The other side refers back, and declares no reference.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, inverse = owner, max = 500)]
    tasks: Vec<Ref<Task>>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    owner: Ref<Person>,
}

fn main() {}
