//! The readings of a sensor, an hour in a document.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "sensors")]
pub struct Sensor {
    pub id: i32,
    pub room: String,
}

/// Generates the document `ReadingBucket`, which holds the readings of one hour.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Sensor, per = hour, time = at, size = 3600, sum(celsius))]
pub struct Reading {
    pub at: DateTime,
    pub celsius: f64,
}

/// Some data: a sensor with a reading for each of 90 minutes.
pub async fn stocked(db: odm::mongodb::Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Sensor, ReadingBucket])?;
    odm.sync().await?;
    let sensor = odm
        .collection::<Sensor>()
        .insert(NewSensor {
            id: 1,
            room: "attic".into(),
        })
        .await?;
    let reading = |n: i64| Reading {
        at: DateTime::from_millis(n * 60_000),
        celsius: 20.0,
    };
    odm.buckets::<Reading>()
        .push_many(&sensor, (0..90).map(reading))
        .await?;
    Ok(odm)
}
