use odm::prelude::*;
use odm::query::Aggregate;

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    cents: i64,
}

fn cheap(orders: Aggregate<Order>) -> Aggregate<Order> {
    orders.filter(|o| o.cents.lt(100))
}

#[derive(Document)]
#[document(collection = "cheap_orders", view(of = Order, pipeline = cheap))]
struct CheapOrder {
    id: i32,
    cents: i64,
}

async fn example(odm: Odm) -> odm::Result<()> {
    let cheap = odm.collection::<CheapOrder>();
    cheap.insert(NewCheapOrder { id: 1, cents: 5 }).await?;
    cheap.replace(CheapOrder { id: 1, cents: 5 }).await?;
    cheap.delete(1).await?;
    odm.bulk().add(cheap.delete_where(|o| o.cents.eq(5))).await?;
    cheap.update(1).set(|o| o.cents, 6).await?;
    Ok(())
}

fn main() {}
