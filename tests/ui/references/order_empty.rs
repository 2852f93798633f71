//! An order by nothing, and by words.

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
    #[parent_ref(order)]
    owner: Ref<Person>,
    #[parent_ref(order(text(time)))]
    other: Ref<Person>,
    time: DateTime,
}

fn main() {}
