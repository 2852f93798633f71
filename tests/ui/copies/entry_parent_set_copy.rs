//! An update of a copy beside the parent.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
    id: ObjectId,
    time: DateTime,
    #[parent_ref]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
}

async fn rename(log: odm::Collection<LogMsg>, id: ObjectId) -> odm::Result<()> {
    log.update(id).set(|l| l.host.name, "goofy").await?;
    Ok(())
}

fn main() {}
