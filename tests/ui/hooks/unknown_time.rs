//! A time that there is not.

use odm::hooks::Committed;
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "orders", after_write(commit) = tell)]
struct Order {
    id: ObjectId,
    cents: i64,
}

async fn tell(write: Committed<Order>) -> odm::Result<()> {
    drop(write);
    Ok(())
}

fn main() {}
