//! Documents that many writes meet at: a source of copies, a parent with a number and a subset, and a tree with buckets.

use mongodb::bson::DateTime;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

/// What its readings copy.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "meters")]
pub struct Meter {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
}

/// A holder of a copy.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "readings")]
pub struct Reading {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference]
    pub meter: Ref<Meter>,
    #[denormalize(from = meter.name)]
    pub name: String,
    pub value: i32,
}

/// What counts its messages, and holds the newest.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "channels")]
pub struct Channel {
    #[serde(rename = "_id")]
    pub id: i32,
    #[computed(count = Message)]
    pub messages: i64,
    #[subset(of = Message, limit = 10, order(-at), fields(at: DateTime, text: String))]
    pub newest: Vec<NewestEntry>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
pub struct Message {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(order(-at), on_delete = cascade)]
    pub channel: Ref<Channel>,
    pub at: DateTime,
    pub text: String,
}

/// A line of a channel's log, in buckets.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Channel, size = 100)]
pub struct Line {
    pub text: String,
}

pub fn reading(id: i32, meter: i32) -> NewReading {
    NewReading {
        id,
        meter: Ref::new(meter),
        value: id,
    }
}

pub fn message(id: i32, channel: i32) -> NewMessage {
    NewMessage {
        id,
        channel: Ref::new(channel),
        at: DateTime::from_millis(1_700_000_000_000 + i64::from(id) * 1_000),
        text: format!("the fan blade assembly does not turn, for the {id}th time"),
    }
}
