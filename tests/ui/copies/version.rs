//! A copy of a version, which every write raises.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts", version)]
struct Host {
    id: ObjectId,
    version: i64,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.version)]
    seen: i64,
}

fn main() {}
