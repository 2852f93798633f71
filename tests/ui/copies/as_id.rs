//! A copy as the id.

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
    #[denormalize(from = host.ipaddr)]
    id: String,
    #[parent_ref]
    host: Ref<Host>,
}

fn main() {}
