//! A reference that the other side writes.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, max = 100, inverse = host)]
    logs: Vec<Ref<LogMsg>>,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(inverse = logs)]
    host: Ref<Host>,
}

fn main() {}
