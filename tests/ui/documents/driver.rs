//! The driver's collection is not of a model, which serde writes in another form.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: i32,
}

fn driver(people: Collection<Person>) {
    let _ = people.driver::<odm::AsStored<Person>>();
    let _ = people.driver::<Person>();
}

fn main() {}
