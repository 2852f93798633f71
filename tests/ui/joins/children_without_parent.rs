//! The children of a document to which the other has no parent reference, wherever they are asked for.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "logs")]
struct Log {
    id: i32,
    #[reference]
    host: Ref<Host>,
}

async fn children(odm: Odm, host: Host) -> odm::Result<()> {
    let hosts = odm.collection::<Host>();
    let _ = hosts.find_all().include(|h| h.children::<Log>().limit(10)).all().await?;
    let _ = odm.collection::<Log>().children_of(&host).all().await?;
    Ok(())
}

fn main() {}
