//! The same in a bulk.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    #[serde(rename = "_id")]
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
