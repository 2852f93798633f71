//! A variant of an enum of documents holds references, and nothing that is derived of others yet.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    name: String,
}

#[derive(Document)]
#[document(collection = "events")]
enum Event {
    Login(Login),
    Purchase(Purchase),
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Login {
    id: ObjectId,
    #[reference]
    user: Ref<User>,
    #[denormalize(from = user.name)]
    user_name: String,
    #[computed(count = Purchase)]
    purchases: i64,
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Purchase {
    id: ObjectId,
    #[parent_ref]
    user: Ref<User>,
    #[reference(inverse = purchases)]
    login: Option<Ref<Event>>,
}

fn main() {}
