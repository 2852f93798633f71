//! A date with an offset is stored with it, and ordered by its moment.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "flights")]
struct Flight {
    id: i32,
    departs: chrono::DateTime<chrono::FixedOffset>,
}

async fn example(odm: Odm) -> odm::Result<()> {
    let flights = odm.collection::<Flight>();
    flights.find(|f| f.id.gt(0)).sort(|f| f.departs.asc()).all().await?;
    Ok(())
}

fn main() {}
