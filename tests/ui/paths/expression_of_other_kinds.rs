//! Expressions of different kinds are neither compared nor computed with each other, and an array has none.
#![allow(unused)]
use odm::expr::{expr, value};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "lines")]
struct Line {
    id: i32,
    price: i64,
    name: String,
    at: DateTime,
    #[embed(max = 3)]
    tags: Vec<String>,
    #[embed(max = 3)]
    parts: Vec<Part>,
}

#[derive(Embed)]
struct Part {
    qty: i32,
}

fn wrong(l: LineFields) {
    l.price.gt(expr(l.name));
    expr(l.price).lt(expr(l.at));
    expr(l.name) + 1;
    expr(l.at) + expr(l.at);
    expr(l.tags);
    expr(l.parts.qty);
}

fn main() {}
