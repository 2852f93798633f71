//! The documents: ten fields, and an array of embedded structs.

use mongodb::bson::DateTime;
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

/// An order of a shop.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "orders", new(derive(Clone)))]
pub struct Order {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub number: i64,
    #[index]
    #[field(max_len = 100)]
    pub email: String,
    #[field(max_len = 100)]
    pub customer: String,
    #[field(max_len = 100)]
    pub city: String,
    #[field(max_len = 2)]
    pub country: String,
    #[index]
    pub batch: i32,
    #[field(min = 0.0)]
    pub total: f64,
    pub placed_at: DateTime,
    #[field(max_len = 500)]
    pub note: Option<String>,
    #[embed(max = 1000, large = "pushed onto by the benchmark")]
    pub lines: Vec<Line>,
}

/// A product that was ordered.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Line {
    #[field(max_len = 20)]
    pub sku: String,
    #[field(max_len = 100)]
    pub title: String,
    #[field(min = 1)]
    pub quantity: i32,
    pub price: f64,
}

pub fn line(n: usize) -> Line {
    Line {
        sku: format!("SKU-{:08}", n * 7919 % 99_999_999),
        title: format!("Article number {n}, in a box"),
        quantity: 1 + (n % 9) as i32,
        price: 0.99 + (n % 500) as f64,
    }
}

/// The order with this number. All are of the same size but for the digits.
pub fn new_order(n: usize, batch: i32) -> NewOrder {
    NewOrder {
        number: n as i64,
        email: format!("customer{n:07}@example.com"),
        customer: format!("Customer Number {n:07}"),
        city: ["Anytown", "New York", "São Paulo", "Springfield"][n % 4].to_owned(),
        country: ["US", "BR", "DE", "JP"][n % 4].to_owned(),
        batch,
        total: 10.0 + (n % 1000) as f64,
        placed_at: DateTime::from_millis(1_700_000_000_000 + n as i64 * 1000),
        note: n
            .is_multiple_of(2)
            .then(|| "Please ring twice, the bell is broken.".to_owned()),
        lines: (n..n + 5).map(line).collect(),
    }
}

/// The same, as a program without the library has it.
pub fn order(n: usize, batch: i32) -> Order {
    let new = new_order(n, batch);
    Order {
        id: ObjectId::new(),
        number: new.number,
        email: new.email,
        customer: new.customer,
        city: new.city,
        country: new.country,
        batch: new.batch,
        total: new.total,
        placed_at: new.placed_at,
        note: new.note,
        lines: new.lines,
    }
}
