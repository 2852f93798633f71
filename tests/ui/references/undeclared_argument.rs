//! A reference as the argument of a generic type.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    email: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Dated<T> {
    value: T,
    since: DateTime,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    owner: Dated<Ref<Person>>,
}

fn main() {}
