//! What counts is what is stored.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things", index(fields(at), expire_after = 60), index(fields(seen), expire_after = 60))]
struct Thing {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(with = "text")]
    #[field(stored = String)]
    at: DateTime,
    #[serde(with = "date")]
    #[field(stored = DateTime)]
    seen: i64,
}

mod text {
    pub fn serialize<S: serde::Serializer>(at: &odm::bson::DateTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }
    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<odm::bson::DateTime, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

mod date {
    use odm::bson::DateTime;
    use serde::{Deserialize, Serialize};

    pub fn serialize<S: serde::Serializer>(at: &i64, to: S) -> Result<S::Ok, S::Error> {
        DateTime::from_millis(*at).serialize(to)
    }
    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        DateTime::deserialize(from).map(|at| at.timestamp_millis())
    }
}

fn main() {}
