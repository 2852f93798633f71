//! An order by a field that is not there.

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
    #[parent_ref(order(-at))]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
}

fn main() {}
