//! The stored form, in the library's own attributes.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people", serde = yaml, rename_all = "camel")]
struct Person {
    id: i32,
    #[field(name = 7)]
    name: String,
    #[field(skip_none)]
    age: i32,
}

#[derive(Embed)]
#[embed(tag = "kind", untagged)]
enum Kind {
    #[embed(rename = "b")]
    A,
}

#[derive(Embed)]
#[embed(content = "data")]
enum Sent {
    A(i32),
}

fn main() {}
