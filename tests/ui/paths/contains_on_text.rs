//! A text has no items: the error names the conditions on what is in it.

use odm::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    name: String,
}

fn main() {
    let _ = Person::paths().name.contains("Kate");
}
