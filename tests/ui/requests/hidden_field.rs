//! A parameter that would tell the value of a private field.
use odm::prelude::*;
use odm::request::{Eq, Sort};

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    #[index]
    #[field(private)]
    #[field(default)]
    password_hash: String,
    #[index]
    #[field(write_only)]
    code: i32,
}

#[derive(RequestQuery)]
#[request(of = User)]
struct UserQuery {
    password_hash: Eq<String>,
    #[request(sort(code))]
    sort: Sort,
}

fn main() {}
