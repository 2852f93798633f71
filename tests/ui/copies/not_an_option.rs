//! A copy through a reference that may be missing.

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
    #[parent_ref]
    host: Option<Ref<Host>>,
    #[denormalize(from = host.ipaddr)]
    ipaddr: String,
}

fn main() {}
