//! A copy through a two-way reference.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    ipaddr: String,
    #[reference(many, max = 100, inverse = host)]
    disks: Vec<Ref<Disk>>,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "disks")]
struct Disk {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(inverse = disks)]
    host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    ipaddr: String,
}

fn main() {}
