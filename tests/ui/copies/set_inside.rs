//! An update that sets a part of a copy.

use odm::prelude::*;

#[derive(Embed, Clone)]
struct Place {
    city: String,
}

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: ObjectId,
    place: Place,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: ObjectId,
    #[parent_ref]
    host: Ref<Host>,
    #[denormalize(from = host.place)]
    place: Place,
}

async fn write(logs: odm::Collection<LogMsg>, id: ObjectId) -> odm::Result<()> {
    logs.update(id).set(|l| l.place.city, "Bonn").await?;
    Ok(())
}

fn main() {
    let _ = write;
}
