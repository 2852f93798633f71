//! References under the keys of a map.

use odm::prelude::*;
use std::collections::{BTreeMap, HashMap};

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(many, max = 20)]
    by_name: HashMap<String, Ref<Person>>,
    #[embed(max = 20)]
    by_number: BTreeMap<String, Ref<Person>>,
}

fn main() {}
