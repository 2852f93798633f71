//! The same in a bulk.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    id: ObjectId,
    text: String,
}

async fn wrong(odm: Odm, message: LogMsg) -> odm::Result<()> {
    odm.bulk().replace(message).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
