//! A builder of a struct with parameters, one with a field `build`, and functions that make other values than ids.
use odm::bson::Uuid;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "pairs", builder)]
struct Pair<T> {
    id: ObjectId,
    #[embed]
    left: T,
}

#[derive(Document)]
#[document(collection = "houses", builder)]
struct House {
    id: ObjectId,
    build: i32,
}

#[derive(Document)]
#[document(collection = "tokens")]
struct Token {
    id: ObjectId,
    #[field(generate = Uuid::new)]
    secret: Uuid,
}

#[derive(Embed)]
struct Key {
    #[field(generate = Uuid::new)]
    value: Uuid,
}

fn main() {}
