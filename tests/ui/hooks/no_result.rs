//! A hook that can not say whether it refuses.

use odm::hooks::InTransaction;
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "orders", before_write = check)]
struct Order {
    id: ObjectId,
    cents: i64,
}

async fn check(write: InTransaction<Order>) {
    drop(write);
}

fn main() {}
