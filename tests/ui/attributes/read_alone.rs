//! Options for writes, on fields that are only read.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: i32,
    name: String,
    stars: i32,
    age: i32,
}

#[derive(Projection)]
#[projection(of = User)]
struct Name {
    #[field(max_len = 100)]
    name: String,
    #[field(default = 3)]
    stars: i32,
    #[field(stored)]
    age: i32,
}

#[derive(Row)]
struct Total {
    #[field(min = 0)]
    total: i32,
    #[field(default = 3)]
    stars: i32,
    #[field(generate = next)]
    id: i32,
    #[field(scope)]
    tenant: i32,
}

fn main() {}
