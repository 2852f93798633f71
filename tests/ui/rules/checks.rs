//! Comparisons of fields that are none, and functions of another type.
use odm::expr::expr;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
}

#[derive(Document)]
#[document(collection = "bookings", check = |b| expr(b.end).gt(expr(b.starts)))]
struct Misspelt {
    id: ObjectId,
    starts: DateTime,
    ends: DateTime,
}

#[derive(Document)]
#[document(collection = "bookings", check = |b| expr(b.user).gt(expr(b.starts)))]
struct Referring {
    id: ObjectId,
    starts: DateTime,
    #[reference]
    user: Ref<User>,
}

fn long_enough(name: &i32) -> Result<(), String> {
    (*name > 3).then_some(()).ok_or_else(|| "is too short".to_owned())
}

#[derive(Document)]
#[document(collection = "rooms")]
struct Room {
    id: ObjectId,
    #[field(check_with = long_enough)]
    name: String,
}

fn main() {}
