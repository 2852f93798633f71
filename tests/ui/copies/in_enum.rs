//! A copy in a variant.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    ipaddr: String,
}

#[derive(Embed, Serialize, Deserialize, Clone)]
enum Note {
    About {
        #[reference]
        host: Ref<Host>,
        #[denormalize(from = host.ipaddr)]
        ipaddr: String,
    },
}

fn main() {}
