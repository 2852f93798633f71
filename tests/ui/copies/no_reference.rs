//! A copy through a field that is no reference.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
    ipaddr: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    host: ObjectId,
    #[denormalize(from = host.ipaddr)]
    ipaddr: String,
}

fn main() {}
