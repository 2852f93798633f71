//! A reference that is not stored as the id.

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
    #[reference]
    #[field(opaque)]
    a: Ref<Person>,
    #[reference]
    #[serde(with = "form")]
    b: Ref<Person>,
    #[reference]
    #[serde(flatten)]
    c: Ref<Person>,
    #[reference]
    #[serde(skip)]
    d: Option<Ref<Person>>,
}

fn main() {}
