//! A map and an enum are compared as a whole, and have no order.
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[serde(with = "odm::native")]
    #[embed(max = 5, key_len = 36)]
    fees: BTreeMap<String, rust_decimal::Decimal>,
    status: Status,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Status {
    Shipped {
        #[serde(with = "odm::native")]
        at: chrono::DateTime<chrono::Utc>,
    },
    Open,
}

fn main() {
    let _ = Order::paths().fees.gte(BTreeMap::new());
    let _ = Order::paths().status.gte(Status::Open);
}
