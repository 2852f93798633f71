//! Defaults that the rules of their fields refuse.
use odm::prelude::*;

#[derive(Embed)]
struct Order {
    #[field(min = 1, default = 0)]
    amount: i32,
    #[field(max = 0.5, default = 0.75)]
    discount: f64,
    #[field(multiple_of = 12, default = 10)]
    bottles: i32,
    #[field(one_of(1, 2), default = -1)]
    priority: i32,
    #[field(one_of("new", "paid"), default = "open".to_owned())]
    status: String,
    #[field(max_len = 2, default = Some(String::from("EUR")))]
    currency: Option<String>,
    #[field(min_len = 1, default = "".into())]
    note: String,
}

fn main() {}
