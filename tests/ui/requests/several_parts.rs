//! A parameter is one value, and an order has one in each document.
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
    #[request(scan)]
    address: Eq<Address>,
    #[request(sort(tags))]
    sort: Sort,
}

#[derive(RequestQuery)]
#[request(of = User)]
struct TagQuery {
    #[request(sort(tags.any_item()))]
    sort: Sort,
}

fn main() {}
