//! The type of a value is no parameter.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use odm::request::{Eq, RequestQuery};

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    #[index]
    name: String,
    #[index]
    age: i32,
    #[index]
    email: Option<String>,
}

#[derive(RequestQuery)]
#[request(of = User)]
struct UserQuery {
    name: Option<Eq<String>>,
    age: Vec<i32>,
    email: Option<String>,
}

fn main() {}
