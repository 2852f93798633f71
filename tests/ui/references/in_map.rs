//! References under the keys of a map.

use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

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
    #[reference(many, max = 20)]
    by_name: HashMap<String, Ref<Person>>,
    #[embed(max = 20)]
    by_number: BTreeMap<String, Ref<Person>>,
}

fn main() {}
