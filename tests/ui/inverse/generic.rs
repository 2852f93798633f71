//! `inverse` in a document with parameters.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task<T> {
    #[serde(rename = "_id")]
    id: ObjectId,
    what: T,
    #[reference(inverse = tasks)]
    owner: Ref<Person>,
}

fn main() {}
