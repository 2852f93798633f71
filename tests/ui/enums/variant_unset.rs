//! The content of a variant, without which the enum can't be read.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    payment: Payment,
}

#[derive(Embed, Serialize, Deserialize)]
enum Payment {
    Cash,
    Voucher(Option<i32>),
}

fn change(orders: Collection<Order>) {
    let _ = orders.update(1).unset(|o| o.payment.voucher);
}

fn main() {}
