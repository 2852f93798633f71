//! Comparisons of fields that are none, and functions of another type.
use odm::expr::expr;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "bookings", check = |b| expr(b.end).gt(expr(b.starts)))]
struct Misspelt {
    #[serde(rename = "_id")]
    id: ObjectId,
    starts: DateTime,
    ends: DateTime,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "bookings", check = |b| expr(b.user).gt(expr(b.starts)))]
struct Referring {
    #[serde(rename = "_id")]
    id: ObjectId,
    starts: DateTime,
    #[reference]
    user: Ref<User>,
}

fn long_enough(name: &i32) -> Result<(), String> {
    (*name > 3).then_some(()).ok_or_else(|| "is too short".to_owned())
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "rooms")]
struct Room {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(check_with = long_enough)]
    name: String,
}

fn main() {}
