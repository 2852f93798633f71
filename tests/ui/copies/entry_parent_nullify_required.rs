//! A parent with copies that is always there.

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
    #[parent_ref(on_delete = nullify)]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
}

fn main() {}
