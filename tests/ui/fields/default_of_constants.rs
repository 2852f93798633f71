//! Defaults that the rules of their fields refuse, where the compiler alone knows the numbers.
use odm::prelude::*;

const LEAST: i32 = 10;
const NONE: i32 = 0;
const LONGEST: u64 = 2;

#[derive(Embed)]
struct Order {
    #[field(min = LEAST, default = LEAST)]
    right: i32,
    #[field(min = LEAST, default = 5)]
    amount: i32,
}

#[derive(Embed)]
struct Crate {
    #[field(min = 1, default = NONE)]
    bottles: i32,
}

#[derive(Embed)]
struct Price {
    #[field(max_len = LONGEST, default = "EUR".to_owned())]
    currency: String,
}

fn main() {}
