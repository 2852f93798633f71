//! A copy of a part of what is embedded.

use odm::prelude::*;

#[derive(Embed, Clone)]
struct Place {
    city: String,
}

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    place: Place,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.place.city)]
    city: String,
}

fn main() {}
