//! A field of all variants is declared alike in each of them.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events", common(at: DateTime, text: String))]
enum Event {
    Login(Login),
    Error(Failure),
    Deploy(Deploy),
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Login {
    id: ObjectId,
    at: DateTime,
    #[field(name = "message")]
    text: String,
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Failure {
    id: ObjectId,
    at: i64,
    text: String,
}

#[derive(Document)]
#[document(variant_of = Event, version)]
struct Deploy {
    id: ObjectId,
    at: DateTime,
    text: String,
    version: i64,
}

fn main() {}
