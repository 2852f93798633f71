//! A typo, and a mode that there is not.

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
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(form = host.ipaddr)]
    ipaddr: String,
    #[denormalize(from = host.name, consistency = soon)]
    name: String,
}

fn main() {}
