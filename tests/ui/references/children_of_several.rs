//! Two parents of one type.

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
    #[parent_ref]
    from: Ref<Person>,
    #[parent_ref]
    to: Ref<Person>,
}

fn is_child<C: odm::references::ChildOf<P>, P: Document>() {}
fn check() {
    is_child::<Task, Person>();
}

fn main() {}
