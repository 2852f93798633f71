//! A reference that is made where none is stored.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
}

fn anyone() -> Ref<Person> {
    Ref::new(0)
}

fn everybody() -> Vec<Ref<Person>> {
    vec![Ref::new(0)]
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference]
    #[serde(default = "anyone")]
    owner: Ref<Person>,
    #[reference(many, max = 20)]
    #[serde(default = "everybody")]
    watchers: Vec<Ref<Person>>,
    #[reference(many, max = 20)]
    #[serde(default)]
    readers: Vec<Ref<Person>>,
}

fn main() {}
