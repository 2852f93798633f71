//! A copy in a variant.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
    ipaddr: String,
}

#[derive(Embed, Clone)]
enum Note {
    About {
        #[reference]
        host: Ref<Host>,
        #[denormalize(from = host.ipaddr)]
        ipaddr: String,
    },
}

fn main() {}
