//! Attributes where nothing reads them.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
#[field(name = "p")]
struct Person {
    id: i32,
    #[document(name = "n")]
    name: String,
    #[bucket(max = 200)]
    #[embed(max = 200)]
    readings: Vec<i32>,
}

#[derive(Embed)]
#[embed(tag = "kind")]
enum Came {
    #[field(name = "f")]
    OnFoot,
}

#[derive(Embed)]
#[embed(repr = i32, tag = "kind")]
enum Grade {
    Good = 1,
}

#[derive(Embed)]
#[embed(repr = i32)]
enum Mark {
    #[embed(name = "a")]
    A = 1,
}

fn main() {}
