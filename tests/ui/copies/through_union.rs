//! A copy through a reference to one of several documents.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
    ipaddr: String,
}

#[derive(Document, Clone)]
#[document(collection = "routers")]
struct Router {
    id: ObjectId,
    ipaddr: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[reference(any(Host, Router))]
    from: DeviceRef,
    #[denormalize(from = from.ipaddr)]
    ipaddr: String,
}

fn main() {}
