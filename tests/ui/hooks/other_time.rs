//! A hook after the commit that wants the transaction.

use odm::hooks::InTransaction;
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "orders", after_write = tell)]
struct Order {
    id: ObjectId,
    cents: i64,
}

async fn tell(write: InTransaction<Order>) -> odm::Result<()> {
    drop(write);
    Ok(())
}

fn main() {}
