//! What an enum of documents and its variants can't be.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events", tag = "type")]
enum Event {
    Login(Login),
    Logout { id: ObjectId },
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Login {
    id: ObjectId,
}

#[derive(Document)]
#[document(collection = "jobs", tag = "type")]
enum Job {
    Mail(Mail),
    Again(Mail),
}

#[derive(Document)]
#[document(variant_of = Job, collection = "mails", soft_delete)]
struct Mail {
    id: ObjectId,
    deleted_at: Option<DateTime>,
}

fn main() {}
