//! A function of `check_with` returns a `Result`, with a reason that can be shown.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "rooms", check_with = has_a_name)]
struct Room {
    id: i32,
    #[field(check_with = is_long)]
    name: String,
    #[field(check_with = is_even)]
    beds: i32,
}

fn has_a_name(room: &Room) -> bool {
    !room.name.is_empty()
}

fn is_long(name: &str) -> Option<String> {
    (name.len() < 3).then(|| "is too short".to_owned())
}

fn is_even(beds: &i32) -> Result<(), Option<String>> {
    if beds % 2 == 0 { Ok(()) } else { Err(None) }
}

fn main() {}
