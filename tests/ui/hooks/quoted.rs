//! A hook that is named by a string.

use odm::hooks::InTransaction;
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "orders", before_write = "check")]
struct Order {
    id: ObjectId,
    cents: i64,
}

async fn check(write: InTransaction<Order>) -> odm::Result<()> {
    drop(write);
    Ok(())
}

fn main() {}
