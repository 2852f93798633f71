use odm::prelude::*;
#[derive(Document, Clone)]
#[document(collection = "hosts")]
pub struct Host {
    pub id: ObjectId,
}
#[derive(Document, Clone)]
#[document(collection = "logmsg")]
pub struct LogMsg {
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
