//! A bulk gives counts, and no documents.

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
        .add(accounts.update(1).inc(|a| a.cents, 5).returning())
        .add(accounts.update(2).set(|a| a.cents, 0).upsert().returning_before())
        .add(accounts.delete(3).optional())
        .await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
