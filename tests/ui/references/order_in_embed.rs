//! An order in an embedded struct.

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
struct Note {
    #[parent_ref(order(-time))]
    owner: Ref<Person>,
    time: DateTime,
}

fn main() {}
