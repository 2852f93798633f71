use odm::prelude::*;
use odm::query::Aggregate;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    cents: i64,
}

fn orders(orders: Aggregate<Order>) -> Aggregate<Order> {
    orders
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "dear_orders", version, view(of = Order, pipeline = orders))]
struct DearOrder {
    #[serde(rename = "_id")]
    id: i32,
    #[index]
    cents: i64,
    version: i64,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "old_orders", view(of = Order))]
struct OldOrder {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "all_orders", view(of = DearOrder, pipeline = orders))]
struct AnyOrder {
    #[serde(rename = "_id")]
    id: i32,
}

fn main() {}
