//! An update that sets a part of a copy.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone)]
struct Place {
    city: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: ObjectId,
    place: Place,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
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
