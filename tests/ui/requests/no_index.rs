//! A request reads no whole collection unless the struct says so.
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
    nickname: Eq<String>,
    age: Range<i32>,
    email: Eq<String>,
    #[request(path = address.street)]
    street: Text,
    #[request(sort(name, nickname))]
    sort: Sort,
}

// A hashed index finds equal values.
#[derive(RequestQuery)]
#[request(of = User)]
struct AgeQuery {
    age: Eq<i32>,
}

// With a collation, no index finds the beginnings of texts.
#[derive(Document)]
#[document(collection = "shelves", collation(locale = "en", strength = 2))]
struct Shelf {
    id: i32,
    #[index]
    label: String,
}

#[derive(RequestQuery)]
#[request(of = Shelf)]
struct ShelfQuery {
    label: Text,
}

fn main() {}
