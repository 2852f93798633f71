use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: ObjectId,
}
#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg")]
pub struct LogMsg {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub host: ObjectId, // not declared as a reference, and without an index
    pub time: DateTime,
    pub message: String,
}

async fn newest(odm: &Odm) -> odm::Result<Vec<(Host, Vec<LogMsg>)>> {
    let hosts = odm.collection::<Host>().find_all();
    hosts.include(|h| h.children::<LogMsg>().limit(10)).all().await // error
}

fn main() {}
