//! A copy of one field through many references.

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
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, max = 5)]
    hosts: Vec<Ref<Host>>,
    #[denormalize(from = hosts.ipaddr)]
    ipaddr: String,
}

fn main() {}
