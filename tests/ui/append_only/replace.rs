//! Another document in the place of one that never changes.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    #[serde(rename = "_id")]
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
