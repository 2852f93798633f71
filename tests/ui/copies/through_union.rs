//! A copy through a reference to one of several documents.

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
#[document(collection = "routers")]
struct Router {
    #[serde(rename = "_id")]
    id: ObjectId,
    ipaddr: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(any(Host, Router))]
    from: DeviceRef,
    #[denormalize(from = from.ipaddr)]
    ipaddr: String,
}

fn main() {}
