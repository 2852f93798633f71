//! Another document in the place of one that never changes.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    id: ObjectId,
    text: String,
}

async fn wrong(logs: odm::Collection<LogMsg>, message: LogMsg) -> odm::Result<()> {
    logs.replace(message).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
