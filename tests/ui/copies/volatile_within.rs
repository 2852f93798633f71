//! A copied struct with a field that changes often.

use odm::prelude::*;

#[derive(Embed, Clone)]
struct Address {
    ip: String,
    #[volatile]
    last_seen: DateTime,
}

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    #[embed]
    address: Address,
}

#[derive(Document, Clone)]
#[document(collection = "messages")]
struct Message {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.address)]
    #[embed]
    host_address: Address,
}

fn main() {}
