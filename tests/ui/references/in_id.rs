//! References in an id that would change.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Embed)]
#[embed(id)]
struct Key {
    #[reference(on_delete = nullify)]
    person: Option<Ref<Person>>,
    day: i32,
    #[reference(many)]
    others: Vec<Ref<Person>>,
}

fn main() {}
