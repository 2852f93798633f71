//! A query has one order and one page, and each parameter a name of its own.
#![allow(unused_imports)]
use odm::prelude::*;
use odm::request::{Eq, OneOf, Page, Range, Sort, Text};

#[derive(Document)]
#[document(collection = "users", index(fields(address.city)))]
struct User {
    id: i32,
    #[index]
    name: String,
    #[index(hashed)]
    age: i32,
    #[index(partial = |u| u.age.gte(18))]
    email: String,
    nickname: Option<String>,
    address: Address,
    #[embed(max = 5)]
    #[index]
    tags: Vec<String>,
}

#[derive(Embed)]
struct Address {
    city: String,
    street: String,
}

#[derive(RequestQuery)]
#[request(of = User)]
struct UserQuery {
    name: Text,
    #[request(path = address.city, name = "name")]
    city: Eq<String>,
    #[request(path = tags.any_item(), name = "limit")]
    tag: OneOf<String>,
    #[request(sort(name))]
    sort: Sort,
    #[request(sort(id))]
    order: Sort,
    page: Page,
    next: Page,
}

fn main() {}
