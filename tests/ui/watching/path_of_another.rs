//! A filter of a change stream by a field of another document.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "jobs")]
struct Job {
    id: ObjectId,
    state: String,
}

#[derive(Document, Clone)]
#[document(collection = "workers")]
struct Worker {
    id: ObjectId,
    name: String,
}

async fn wrong(jobs: odm::Collection<Job>) -> odm::Result<()> {
    let _ = jobs.watch(|_| Worker::paths().name.eq("a")).start().await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
