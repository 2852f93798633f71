//! A child without a parent.

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
    #[reference]
    owner: Ref<Person>,
}

fn is_child<C: odm::references::ChildOf<P>, P: Document>() {}
fn check() {
    is_child::<Task, Person>();
}

fn main() {}
