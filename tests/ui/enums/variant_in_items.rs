//! A path into a variant of an array's items does not say which item to change.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    #[embed(max = 5)]
    steps: Vec<Step>,
}

#[derive(Embed)]
#[embed(tag = "kind")]
enum Step {
    Packed,
    Shipped { tracking: String },
}

fn change(orders: Collection<Order>) {
    let _ = orders.update(1).set(|o| o.steps.shipped.tracking, "x");
}

fn main() {}
