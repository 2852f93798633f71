//! An update of the reference alone, without its copies.

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

async fn move_to(log: odm::Collection<LogMsg>, id: ObjectId, host: ObjectId) -> odm::Result<()> {
    log.update(id).set(|l| l.host, host).await?;
    Ok(())
}

fn main() {}
