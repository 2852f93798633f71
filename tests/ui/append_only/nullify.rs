//! A reference that a deletion empties.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
    ipaddr: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    id: ObjectId,
    #[reference(on_delete = nullify)]
    host: Option<Ref<Host>>,
}

fn main() {}
