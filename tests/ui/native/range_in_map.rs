//! A map is compared as a whole: no dotted name reaches the values of all keys.
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
}

fn main() {
    let _ = Order::paths().fees.any().gte(rust_decimal::Decimal::ONE);
}
