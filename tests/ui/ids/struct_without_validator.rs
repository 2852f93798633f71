//! An `_id` that is a struct has one order of its fields, which somebody has to demand.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "stock", validation(action = warn))]
struct Stock {
    #[serde(rename = "_id")]
    id: Key,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "parts", validation(level = off), sole_writer)]
struct Part {
    #[serde(rename = "_id")]
    id: Key,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[embed(id)]
struct Key {
    shop: i32,
    number: i32,
}

fn main() {}
