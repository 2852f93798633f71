//! A copied struct with a field that changes often.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone)]
struct Address {
    ip: String,
    #[volatile]
    last_seen: DateTime,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[embed]
    address: Address,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "messages")]
struct Message {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.address)]
    #[embed]
    host_address: Address,
}

fn main() {}
