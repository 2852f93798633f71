//! An update of a copy beside the parent.

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
}

async fn rename(log: odm::Collection<LogMsg>, id: ObjectId) -> odm::Result<()> {
    log.update(id).set(|l| l.host.name, "goofy").await?;
    Ok(())
}

fn main() {}
