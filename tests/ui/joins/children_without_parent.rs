//! The children of a document to which the other has no parent reference, wherever they are asked for.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logs")]
struct Log {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    host: Ref<Host>,
}

async fn children(odm: Odm, host: Host) -> odm::Result<()> {
    let hosts = odm.collection::<Host>();
    let _ = hosts.find_all().include(|h| h.children::<Log>().limit(10)).all().await?;
    let _ = odm.collection::<Log>().of(&host).all().await?;
    Ok(())
}

fn main() {}
