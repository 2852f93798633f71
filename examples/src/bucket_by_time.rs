//! Buckets by time: the readings of a sensor in one document an hour, with their number and sum beside them.
use mongodb::Database;
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

/// The fields for a chart of the hours, which reads no reading.
#[derive(Projection, Clone, Debug)]
#[projection(of = ReadingBucket)]
pub struct Hour {
    pub start: DateTime,
    pub count: i32,
    pub sum_celsius: f64,
}

fn minute(n: i64) -> DateTime {
    DateTime::from_millis(n * 60_000)
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Sensor, ReadingBucket])?;
    odm.sync().await?;
    let sensor = odm
        .collection::<Sensor>()
        .insert(NewSensor {
            id: 1,
            room: "attic".into(),
        })
        .await?;

    // Ninety readings, one a minute: a push is one update of the bucket of its hour.
    let readings = odm.buckets::<Reading>();
    for n in 0..90 {
        readings
            .push(
                &sensor,
                Reading {
                    at: minute(n),
                    celsius: 20.0 + n as f64 / 10.0,
                },
            )
            .await?;
    }

    // The mean of each hour, without reading the readings.
    let hours: Vec<Hour> = odm
        .collection::<ReadingBucket>()
        .find(|b| b.sensor.eq(sensor.to_ref()))
        .sort(|b| b.start.asc())
        .select::<Hour>()
        .all()
        .await?;
    assert_eq!(hours.iter().map(|hour| hour.count).collect::<Vec<_>>(), [60, 30]);
    assert_eq!(hours[1].start, minute(60));
    for (n, hour) in hours.iter().enumerate() {
        let mean = hour.sum_celsius / f64::from(hour.count);
        println!(
            "Hour {n} in the {}: {} readings, {mean:.2} °C on average",
            sensor.room, hour.count
        );
    }

    // A period, whatever buckets it lies in.
    let found = readings.range(&sensor, minute(55)..minute(65)).await?;
    assert_eq!(found.len(), 10);

    // A reading that comes late belongs to the bucket of its own hour.
    readings
        .push(
            &sensor,
            Reading {
                at: minute(30),
                celsius: 20.0,
            },
        )
        .await?;
    assert_eq!(readings.pages(&sensor).await?[0].count, 61);

    // Old hours are deleted as documents.
    let old = odm
        .collection::<ReadingBucket>()
        .delete_where(|b| b.start.lt(minute(60)))
        .await?;
    assert_eq!((old.deleted, readings.count(&sensor).await?), (1, 30));
    println!("The first hour is deleted: one document.");
    Ok(())
}
