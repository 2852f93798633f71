//! The enum lists its variants, and each says of which enum it is one.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events")]
enum Event {
    Login(Login),
    Logout(Logout),
}

#[derive(Document)]
#[document(collection = "logins")]
struct Login {
    id: ObjectId,
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Logout {
    id: ObjectId,
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Purchase {
    id: ObjectId,
}

fn main() {}
