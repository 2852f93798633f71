//! Each write of a bulk has a position, so each document is inserted by its own insert.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "accounts")]
struct Account {
    id: i32,
    cents: i64,
}

async fn wrong(odm: Odm, new: Vec<NewAccount>) -> odm::Result<()> {
    let accounts = odm.collection::<Account>();
    odm.bulk().add(accounts.insert_many(new)).await?;
    Ok(())
}

fn main() {
    let _ = wrong;
}
