//! A parent whose struct does not say that it is of copies.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
}

#[derive(Embed, Clone)]
struct OwnHost {
    #[reference]
    id: Ref<Host>,
    name: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    time: DateTime,
    #[parent_ref(order(-time))]
    #[denormalize(from = Host)]
    host: OwnHost,
}

fn main() {}
