//! Defaults that can't be kept as they are declared.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: i32,
    #[field(default)]
    #[index(unique)]
    email: String,
    #[field(stored)]
    name: String,
    #[field(stored)]
    #[field(default)]
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
    #[field(default = 7)]
    #[serde(default = "seven")]
    points: i32,
}

fn seven() -> i32 {
    7
}

fn main() {}
