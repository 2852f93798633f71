//! `inverse` with `by`.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many)]
    tasks: Vec<Ref<Task>>,
    #[index(unique)]
    email: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(inverse = tasks, by = email)]
    owner: Ref<Person, String>,
}

fn main() {}
