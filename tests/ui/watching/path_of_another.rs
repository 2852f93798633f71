//! A filter of a change stream by a field of another document.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "jobs")]
struct Job {
    #[serde(rename = "_id")]
    id: ObjectId,
    state: String,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "workers")]
struct Worker {
    #[serde(rename = "_id")]
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
