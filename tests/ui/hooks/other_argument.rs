//! A hook that takes the document alone.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "orders", before_write = check)]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    cents: i64,
}

async fn check(order: Order) -> odm::Result<()> {
    drop(order);
    Ok(())
}

fn main() {}
