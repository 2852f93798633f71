//! A copy through a two-way reference.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    ipaddr: String,
    #[reference(many, max = 100, inverse = host)]
    disks: Vec<Ref<Disk>>,
}

#[derive(Document, Clone)]
#[document(collection = "disks")]
struct Disk {
    id: ObjectId,
    #[reference(inverse = disks)]
    host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    ipaddr: String,
}

fn main() {}
