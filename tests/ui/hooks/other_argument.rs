//! A hook that takes the document alone.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "orders", before_write = check)]
struct Order {
    id: ObjectId,
    cents: i64,
}

async fn check(order: Order) -> odm::Result<()> {
    drop(order);
    Ok(())
}

fn main() {}
