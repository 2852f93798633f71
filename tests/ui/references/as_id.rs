//! A reference as the id, without saying that it is the only one.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    email: String,
}

#[derive(Document)]
#[document(collection = "profiles")]
struct Profile {
    #[reference]
    #[field(name = "_id")]
    person: Ref<Person>,
}

fn main() {}
