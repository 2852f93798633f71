//! Two parents of one type, one of them with copies.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    time: DateTime,
    #[parent_ref]
    #[denormalize(from = Host, fields(name: String))]
    host: HostEntry,
    #[parent_ref]
    sender: Ref<Host>,
}

async fn read(log: odm::Collection<LogMsg>, host: Host) -> odm::Result<()> {
    let _ = log.children_of(&host).all().await?;
    Ok(())
}

fn main() {}
