//! The parent is said within the struct of copies.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
}

#[derive(Embed, Clone)]
#[denormalize(from = Host)]
struct OwnHost {
    #[parent_ref]
    id: Ref<Host>,
    name: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    time: DateTime,
    #[parent_ref]
    #[denormalize(from = Host)]
    host: OwnHost,
}

fn main() {}
