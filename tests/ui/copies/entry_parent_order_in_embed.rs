//! An order in a type that does not know its document.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Embed, Serialize, Deserialize, Clone)]
struct Origin {
    time: DateTime,
    #[parent_ref(order(-time))]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
}

fn main() {}
