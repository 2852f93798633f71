//! Rules of fields whose types have none of them.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Numbers {
    #[field(pattern = "[0-9]+")]
    zip: i32,
}

#[derive(Embed, Serialize, Deserialize)]
struct Texts {
    #[field(multiple_of = 5)]
    price: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Fractions {
    #[field(multiple_of = 5)]
    price: f64,
}

fn main() {}
