//! A reference is found by its stored name.

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
    #[parent_ref]
    #[serde(rename = "owner_id", alias = "person")]
    owner: Ref<Person>,
    #[embed]
    note: Note,
}

#[derive(Embed, Serialize, Deserialize)]
struct Note {
    #[reference]
    #[serde(alias = "writer")]
    author: Option<Ref<Person>>,
}

fn main() {}
