//! The hook of another document.

use odm::hooks::InTransaction;
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "orders", before_write = check)]
struct Order {
    id: ObjectId,
    cents: i64,
}

#[derive(Document, Clone)]
#[document(collection = "notes")]
struct Note {
    id: ObjectId,
}

async fn check(write: InTransaction<Note>) -> odm::Result<()> {
    drop(write);
    Ok(())
}

fn main() {}
