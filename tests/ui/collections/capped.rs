use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "lines", capped(max = 5))]
struct Line {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "events", capped(size = 1_000), expire = at, time_series(time = at))]
struct Event {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
}

fn main() {}
