//! Two references at one path.

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
    title: String,
}

#[derive(Embed)]
#[embed(tag = "type")]
enum About {
    Person {
        #[reference]
        id: Ref<Person>,
    },
    Task {
        #[reference]
        id: Ref<Task>,
    },
}

fn main() {}
