//! An order by nothing, and by words.

use odm::prelude::*;

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
    #[parent_ref(order)]
    owner: Ref<Person>,
    #[parent_ref(order(text(time)))]
    other: Ref<Person>,
    time: DateTime,
}

fn main() {}
