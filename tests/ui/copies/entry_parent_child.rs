//! One child, of a parent that may have many.

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

async fn read(hosts: odm::Collection<Host>) -> odm::Result<()> {
    let _ = hosts.find_all().include(|h| h.child::<LogMsg>()).all().await?;
    Ok(())
}

fn main() {}
