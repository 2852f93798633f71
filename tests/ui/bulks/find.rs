//! A bulk writes: reads, and writes that read first, are operations of their own.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "accounts")]
struct Account {
    id: i32,
    cents: i64,
}

async fn wrong(odm: Odm) -> odm::Result<()> {
    let accounts = odm.collection::<Account>();
    odm.bulk()
        .add(accounts.find(|a| a.cents.lt(0)))
        .add(accounts.update_first(|a| a.cents.lt(0)).set(|a| a.cents, 0))
        .await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
