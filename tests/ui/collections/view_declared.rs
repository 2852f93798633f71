use odm::prelude::*;
use odm::query::Aggregate;

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    cents: i64,
}

fn orders(orders: Aggregate<Order>) -> Aggregate<Order> {
    orders
}

#[derive(Document)]
#[document(
    collection = "dear_orders",
    version,
    view(of = Order, pipeline = orders),
    before_write = check,
    after_write = tell,
    check_with = is_valid,
    patch
)]
struct DearOrder {
    id: i32,
    #[index]
    cents: i64,
    version: i64,
}

#[derive(Document)]
#[document(collection = "old_orders", view(of = Order))]
struct OldOrder {
    id: i32,
}

#[derive(Document)]
#[document(collection = "all_orders", view(of = DearOrder, pipeline = orders))]
struct AnyOrder {
    id: i32,
}

fn main() {}
