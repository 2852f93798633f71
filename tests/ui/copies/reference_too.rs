//! A copy that is a reference itself.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    #[reference]
    owner: Ref<Host>,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.owner)]
    #[reference]
    owner: Ref<Host>,
}

fn main() {}
