//! Pre-images of a document of which the server keeps none.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "jobs")]
struct Job {
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
