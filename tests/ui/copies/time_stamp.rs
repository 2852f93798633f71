//! A copy of what every write changes.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts", timestamps)]
struct Host {
    id: ObjectId,
    updated_at: DateTime,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.updated_at)]
    seen: DateTime,
}

fn main() {}
