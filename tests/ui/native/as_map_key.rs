//! The keys of a map are texts in BSON.
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Embed, Serialize, Deserialize)]
struct Orders {
    #[embed(max = 5, key_len = 36)]
    by_id: BTreeMap<uuid::Uuid, i32>,
    #[embed(max = 5, key_len = 36)]
    by_day: BTreeMap<chrono::DateTime<chrono::Utc>, i32>,
    #[embed(max = 5, key_len = 36)]
    by_price: BTreeMap<rust_decimal::Decimal, i32>,
}

fn main() {}
