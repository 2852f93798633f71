//! A constant is held to what a literal is held to, once the compiler knows its value.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

mod limits {
    pub const NONE: usize = 0;
    pub const MANY: u32 = 5_001;
    pub const SHORT: i32 = 3;
    pub const LONG: i64 = 4;
    pub const RATIO: f64 = 0.5;
}

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    #[embed(max = limits::NONE)]
    tags: Vec<String>,
}

#[derive(Document)]
#[document(collection = "lists")]
struct List {
    id: ObjectId,
    #[reference(many, max = limits::MANY)]
    things: Vec<Ref<Thing>>,
}

#[derive(Document)]
#[document(collection = "words")]
struct Word {
    id: ObjectId,
    #[field(min_len = limits::LONG, max_len = limits::SHORT)]
    text: String,
}

#[derive(Document)]
#[document(collection = "numbers")]
struct Number {
    id: ObjectId,
    #[field(min = limits::LONG, max = 3.5)]
    value: f64,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Thing, size = limits::NONE)]
struct Reading {
    value: f64,
}

#[derive(Embed)]
struct Part {
    #[embed(max = limits::RATIO)]
    names: Vec<String>,
}

fn main() {}
