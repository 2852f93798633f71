//! The library writes its own fields under one name.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: i32,
    #[field(max_len = 15)]
    ipaddr: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "messages")]
struct Message {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    #[serde(alias = "ip")]
    #[field(max_len = 15)]
    ipaddr: String,
}

fn main() {}
