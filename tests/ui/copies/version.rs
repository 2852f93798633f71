//! A copy of a version, which every write raises.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts", version)]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.version)]
    seen: i64,
}

fn main() {}
