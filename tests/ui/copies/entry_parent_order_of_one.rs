//! An order of one.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    time: DateTime,
    #[parent_ref(one, order(-time))]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
}

fn main() {}
