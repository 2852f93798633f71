//! The hook of another document.

use odm::hooks::InTransaction;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "orders", before_write = check)]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    cents: i64,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: ObjectId,
}

async fn check(write: InTransaction<Note>) -> odm::Result<()> {
    drop(write);
    Ok(())
}

fn main() {}
