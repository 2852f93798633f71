//! A parent whose struct does not say that it is of copies.

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
struct OwnHost {
    #[reference]
    id: Ref<Host>,
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
