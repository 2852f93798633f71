//! Documents refer to the enum: neither to one variant, nor with copies.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events", common(at: DateTime))]
enum Event {
    Login(Login),
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Login {
    id: ObjectId,
    at: DateTime,
}

#[derive(Document)]
#[document(collection = "notes")]
struct Note {
    id: ObjectId,
    #[reference]
    about: Ref<Event>,
    #[denormalize(from = about.at)]
    at: DateTime,
    #[reference]
    login: Ref<Login>,
}

fn main() {}
