//! Types of other crates without the word that has them stored as a type of BSON.
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    placed: chrono::DateTime<chrono::Utc>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "parcels")]
struct Parcel {
    #[serde(rename = "_id")]
    id: uuid::Uuid,
}

#[derive(Embed, Serialize, Deserialize)]
struct Times {
    #[embed(max = 5)]
    seen: Vec<Option<chrono::DateTime<chrono::Utc>>>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Prices {
    #[embed(max = 5, key_len = 5)]
    by_country: BTreeMap<String, rust_decimal::Decimal>,
}

type When = Option<chrono::DateTime<chrono::Utc>>;

#[derive(Embed, Serialize, Deserialize)]
struct Day(When);

fn main() {}
