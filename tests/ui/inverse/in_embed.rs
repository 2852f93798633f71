//! `inverse` in an embedded struct.

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
    #[reference(inverse = notes)]
    author: Ref<Person>,
}

fn main() {}
