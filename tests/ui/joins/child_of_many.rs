//! The only child of a document that may have many.

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
    #[parent_ref]
    host: Ref<Host>,
}

async fn child(odm: Odm) -> odm::Result<()> {
    let hosts = odm.collection::<Host>();
    let _ = hosts.find_all().include(|h| h.child::<Log>()).all().await?;
    Ok(())
}

fn main() {}
