//! Pre-images of a document of which the server keeps none.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "jobs")]
struct Job {
    #[serde(rename = "_id")]
    id: ObjectId,
    state: String,
}

async fn wrong(jobs: odm::Collection<Job>) -> odm::Result<()> {
    let _ = jobs.watch_all().pre_images().start().await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
