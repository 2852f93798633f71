//! A copy of what every write changes.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts", timestamps)]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    updated_at: DateTime,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.updated_at)]
    seen: DateTime,
}

fn main() {}
