//! An order of what is no parent.

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
    #[reference(order(-time))]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
}

fn main() {}
