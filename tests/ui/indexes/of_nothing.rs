//! Indexes of values that they hold nothing of.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "places")]
struct Place {
    id: i32,
    #[index(text)]
    number: i32,
    #[index(geo)]
    city: String,
}

fn main() {}
