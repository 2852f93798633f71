//! A reference that the other side writes.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    #[reference(many, max = 100, inverse = host)]
    logs: Vec<Ref<LogMsg>>,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    id: ObjectId,
    #[reference(inverse = logs)]
    host: Ref<Host>,
}

fn main() {}
