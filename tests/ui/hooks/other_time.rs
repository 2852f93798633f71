//! A hook after the commit that wants the transaction.

use odm::hooks::InTransaction;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "orders", after_write = tell)]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    cents: i64,
}

async fn tell(write: InTransaction<Order>) -> odm::Result<()> {
    drop(write);
    Ok(())
}

fn main() {}
