//! An enum is compared as a whole.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    status: Status,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Status {
    Shipped {
        #[serde(with = "odm::native")]
        at: chrono::DateTime<chrono::Utc>,
    },
    Open,
}

fn main() {
    let _ = Order::paths().status.gte(Status::Open);
}
