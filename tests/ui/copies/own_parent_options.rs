//! Options of the reference on the field that holds the struct, which is the parent.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
}

#[derive(Embed, Clone)]
#[denormalize(from = Host)]
struct OwnHost {
    id: Ref<Host>,
    name: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    time: DateTime,
    #[parent_ref(order(-time), on_delete = cascade)]
    #[denormalize(from = Host)]
    host: OwnHost,
}

fn main() {}
