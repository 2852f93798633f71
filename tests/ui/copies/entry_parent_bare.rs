//! A parent with copies, of which the type says nothing.

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
    #[parent_ref(order(-time))]
    #[denormalize(from = Host, fields(name: String))]
    host: Ref<Host>,
}

fn main() {}
