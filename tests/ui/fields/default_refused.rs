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
    #[field(pattern = "[A-Z]{2}", default = "de".to_owned())]
    country: String,
    #[field(email, default = "kate".to_owned())]
    contact: String,
    #[embed(max = 1)]
    #[field(default = vec!["a".to_owned(), "b".to_owned()])]
    words: Vec<String>,
    #[embed(max = 9)]
    #[field(min = 1, default = vec![3, 0])]
    sizes: Vec<i32>,
    #[embed(max = 9)]
    #[field(unique_items, default = vec![3, 3])]
    numbers: Vec<i32>,
    #[field(min = 1, default)]
    rooms: u32,
    #[field(min_len = 1, default)]
    title: String,
}

fn main() {}
