//! Two functions for one time.

use odm::hooks::InTransaction;
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "orders", before_write = check, before_write = other)]
struct Order {
    id: ObjectId,
    cents: i64,
}

async fn check(write: InTransaction<Order>) -> odm::Result<()> {
    drop(write);
    Ok(())
}

fn main() {}
