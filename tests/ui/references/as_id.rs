//! A reference as the id, without saying that it is the only one.

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
#[document(collection = "profiles")]
struct Profile {
    #[reference]
    #[serde(rename = "_id")]
    person: Ref<Person>,
}

fn main() {}
