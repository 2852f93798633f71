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

#[derive(Embed)]
#[embed(tag = "$kind", content = "$kind")]
enum Left {
    A(i32),
}

#[derive(Embed)]
#[embed(tag = "kind")]
enum Came {
    A(i32, i32),
}

#[derive(Document)]
#[document(collection = "names", serde = json)]
struct Names {
    id: i32,
    #[serde(rename = "b")]
    a: i32,
    b: i32,
    #[field(stored = String)]
    day: Option<chrono::NaiveDate>,
}

#[derive(Embed)]
#[embed(repr = "i32")]
enum Level {
    Low = 1,
}

fn main() {}
