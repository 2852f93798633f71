//! Two fields with one alias.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    #[field(alias = "nick")]
    name: String,
    #[field(alias = "nick")]
    nickname: String,
}

fn main() {}
