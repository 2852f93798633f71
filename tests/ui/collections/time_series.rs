use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "readings", time_series(time = at, meta = at), version)]
struct Reading {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: Option<DateTime>,
    #[index(unique)]
    number: i64,
    version: i64,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "values", time_series(time = number))]
struct Measured {
    #[serde(rename = "_id")]
    id: ObjectId,
    number: i64,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "others", time_series(meta = number, granularity = days))]
struct Other {
    #[serde(rename = "_id")]
    id: ObjectId,
    number: i64,
}

fn main() {}
