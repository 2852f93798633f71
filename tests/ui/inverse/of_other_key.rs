//! The other side is by another field than the id.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, inverse = owner)]
    tasks: Vec<Ref<Task>>,
    #[index(unique)]
    email: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(by = email)]
    owner: Ref<Person, String>,
}

fn main() {}
