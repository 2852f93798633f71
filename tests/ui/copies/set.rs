//! An update that sets a copy.

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

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    ipaddr: String,
}

async fn write(logs: odm::Collection<LogMsg>, id: ObjectId) -> odm::Result<()> {
    logs.update(id).set(|l| l.ipaddr, "127.0.0.1").await?;
    Ok(())
}

fn main() {
    let _ = write;
}
