//! A path into a variant of an array's items does not say which item to change.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    #[embed(max = 5)]
    steps: Vec<Step>,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Step {
    Packed,
    Shipped { tracking: String },
}

fn change(orders: Collection<Order>) {
    let _ = orders.update(1).set(|o| o.steps.shipped.tracking, "x");
}

fn main() {}
