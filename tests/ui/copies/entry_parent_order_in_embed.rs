//! An order in a type that does not know its document.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
}

#[derive(Embed, Clone)]
struct Origin {
    time: DateTime,
    #[parent_ref(order(-time))]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
}

fn main() {}
