//! Two documents of which each needs the other first.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(inverse = owner)]
    passport: Ref<Passport>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "passports")]
struct Passport {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(inverse = passport)]
    owner: Ref<Person>,
}

fn main() {}
