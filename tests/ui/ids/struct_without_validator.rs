//! An `_id` that is a struct has one order of its fields, which somebody has to demand.
use odm::prelude::*;

#[derive(Document, Clone, Debug)]
#[document(collection = "stock", validation(action = warn))]
struct Stock {
    id: Key,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "parts", validation(level = off), sole_writer)]
struct Part {
    id: Key,
}

#[derive(Embed, Clone, Debug)]
#[embed(id)]
struct Key {
    shop: i32,
    number: i32,
}

fn main() {}
