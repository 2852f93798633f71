//! A reference that is made where none is stored.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: i32,
}

fn anyone() -> Ref<Person> {
    Ref::new(0)
}

fn everybody() -> Vec<Ref<Person>> {
    vec![Ref::new(0)]
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference]
    #[serde(default = "anyone")]
    owner: Ref<Person>,
    #[reference(many, max = 20)]
    #[serde(default = "everybody")]
    watchers: Vec<Ref<Person>>,
    #[reference(many, max = 20)]
    #[field(default)]
    readers: Vec<Ref<Person>>,
}

fn main() {}
