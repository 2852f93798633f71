//! A reference that a deletion empties.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    ipaddr: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(on_delete = nullify)]
    host: Option<Ref<Host>>,
}

fn main() {}
