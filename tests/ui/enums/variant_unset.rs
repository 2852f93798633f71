//! The content of a variant, without which the enum can't be read.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    payment: Payment,
}

#[derive(Embed)]
enum Payment {
    Cash,
    Voucher(Option<i32>),
}

fn change(orders: Collection<Order>) {
    let _ = orders.update(1).unset(|o| o.payment.voucher);
}

fn main() {}
