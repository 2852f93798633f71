//! A child without a parent.

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
    #[reference]
    owner: Ref<Person>,
}

fn is_child<C: odm::references::ChildOf<P>, P: Document>() {}
fn check() {
    is_child::<Task, Person>();
}

fn main() {}
