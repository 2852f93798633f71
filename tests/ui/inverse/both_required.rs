//! Two documents of which each needs the other first.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[reference(inverse = owner)]
    passport: Ref<Passport>,
}

#[derive(Document)]
#[document(collection = "passports")]
struct Passport {
    id: ObjectId,
    #[reference(inverse = passport)]
    owner: Ref<Person>,
}

fn main() {}
