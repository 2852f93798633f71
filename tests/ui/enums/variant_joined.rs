//! A reference in a variant, which a document may not have.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    status: Status,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Status {
    Draft,
    Shipped {
        #[reference]
        carrier: Ref<Carrier>,
    },
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "carriers")]
struct Carrier {
    #[serde(rename = "_id")]
    id: i32,
}

async fn read(orders: Collection<Order>) {
    let _ = orders.find_all().include(|o| o.status.shipped.carrier).all().await;
}

fn main() {
    let _ = read;
}
