//! A copy of a field that is stored in another form.

use odm::prelude::*;
use serde::Deserialize;

mod form {
    pub fn serialize<S: serde::Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(text)
    }
    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    #[field(with = "form")]
    #[field(stored = String)]
    ipaddr: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    ipaddr: String,
}

fn main() {}
