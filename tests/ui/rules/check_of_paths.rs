//! Two fields are compared as expressions, in a check and in a query.
use odm::prelude::*;

#[derive(Document, Clone, Debug)]
#[document(collection = "bookings", check = |b| b.ends.gt(b.starts))]
struct Booking {
    id: i32,
    starts: DateTime,
    ends: DateTime,
}

#[derive(Document)]
#[document(collection = "quoted", check = "ends > starts")]
struct Quoted {
    id: i32,
    starts: DateTime,
    ends: DateTime,
}

async fn example(odm: Odm) -> odm::Result<()> {
    odm.collection::<Booking>().find(|b| b.ends.gt(b.starts)).all().await?;
    Ok(())
}

fn main() {}
