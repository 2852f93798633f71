//! Rules of fields whose types have none of them.
use odm::prelude::*;

#[derive(Embed)]
struct Numbers {
    #[field(pattern = "[0-9]+")]
    zip: i32,
}

#[derive(Embed)]
struct Texts {
    #[field(multiple_of = 5)]
    price: String,
}

#[derive(Embed)]
struct Fractions {
    #[field(multiple_of = 5)]
    price: f64,
}

fn main() {}
