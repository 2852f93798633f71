//! An update that sets a copy.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    name: String,
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

async fn write(logs: odm::Collection<LogMsg>, id: ObjectId) -> odm::Result<()> {
    logs.update(id).set(|l| l.ipaddr, "127.0.0.1").await?;
    Ok(())
}

fn main() {
    let _ = write;
}
