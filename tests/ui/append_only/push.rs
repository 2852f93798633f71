//! An item that is appended to its array.

use odm::prelude::*;

#[derive(Embed, Clone)]
struct Place {
    city: String,
}

#[derive(Document, Clone)]
#[document(collection = "logmsg", append_only)]
struct LogMsg {
    id: ObjectId,
    text: String,
    place: Place,
    #[embed(max = 5)]
    tags: Vec<String>,
}

async fn write(logs: odm::Collection<LogMsg>, id: ObjectId) -> odm::Result<()> {
    logs.update(id).push(|l| l.tags, "new").await?;
    Ok(())
}

fn main() {
    let _ = write;
}
