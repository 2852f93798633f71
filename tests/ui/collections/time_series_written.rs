use odm::prelude::*;

#[derive(Document)]
#[document(collection = "readings", time_series(time = at))]
struct Reading {
    id: i32,
    at: DateTime,
    celsius: f64,
}

async fn example(odm: Odm, reading: Reading) -> odm::Result<()> {
    let readings = odm.collection::<Reading>();
    readings.replace(reading).await?;
    readings.delete_where(|r| r.celsius.lt(0.0)).await?;
    readings.update(1).set(|r| r.celsius, 6.0).await?;
    Ok(())
}

fn main() {}
