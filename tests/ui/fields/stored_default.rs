//! Defaults that can't be kept as they are declared.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    #[index(unique)]
    email: String,
    #[field(stored)]
    name: String,
    #[field(stored)]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
    #[field(default = 7)]
    #[serde(default = "seven")]
    points: i32,
}

fn seven() -> i32 {
    7
}

fn main() {}
