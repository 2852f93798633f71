//! A copy without a source.

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
    host: Ref<Host>,
    #[denormalize]
    ipaddr: String,
}

fn main() {}
