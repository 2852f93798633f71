//! A hook that can not say whether it refuses.

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

async fn check(write: InTransaction<Order>) {
    drop(write);
}

fn main() {}
