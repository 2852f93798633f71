//! A parent whose struct holds the copies alone.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Embed, Serialize, Deserialize, Clone)]
#[denormalize(from = Host)]
struct OwnHost {
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    time: DateTime,
    #[parent_ref(order(-time))]
    #[denormalize(from = Host)]
    host: OwnHost,
}

fn main() {}
