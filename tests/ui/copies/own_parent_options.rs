//! Options of the reference on the field that holds the struct, which is the parent.

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
    id: Ref<Host>,
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    time: DateTime,
    #[parent_ref(order(-time), on_delete = cascade)]
    #[denormalize(from = Host)]
    host: OwnHost,
}

fn main() {}
