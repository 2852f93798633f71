//! The library writes its own fields under one name.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: i32,
    #[field(max_len = 15)]
    ipaddr: String,
}

#[derive(Document, Clone)]
#[document(collection = "messages")]
struct Message {
    id: i32,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    #[field(alias = "ip")]
    #[field(max_len = 15)]
    ipaddr: String,
}

fn main() {}
