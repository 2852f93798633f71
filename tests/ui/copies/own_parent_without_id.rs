//! A parent whose struct holds the copies alone.

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
