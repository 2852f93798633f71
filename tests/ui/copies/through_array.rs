//! A copy of one field through many references.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
    ipaddr: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[reference(many, max = 5)]
    hosts: Vec<Ref<Host>>,
    #[denormalize(from = hosts.ipaddr)]
    ipaddr: String,
}

fn main() {}
