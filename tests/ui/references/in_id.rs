//! References in an id that would change.

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
#[embed(id)]
struct Key {
    #[reference(on_delete = nullify)]
    person: Option<Ref<Person>>,
    day: i32,
    #[reference(many)]
    others: Vec<Ref<Person>>,
}

fn main() {}
