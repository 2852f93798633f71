//! The readings of a sensor, an hour in a document.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "sensors")]
pub struct Sensor {
    #[serde(rename = "_id")]
    pub id: i32,
    pub room: String,
}

/// Generates the document `ReadingBucket`, which holds the readings of one hour.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Sensor, per = hour, time = at, size = 3600, sum(celsius))]
pub struct Reading {
    pub at: DateTime,
    pub celsius: f64,
}
