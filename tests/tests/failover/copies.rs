//! Copies under failover: fan-outs go on where they were interrupted, and transactions are whole or not there.

use super::control::Nodes;
use super::scenario::{Stop, while_primaries_die};
use odm::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::{assert_clean, with_db};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "devices")]
struct Device {
    #[serde(rename = "_id")]
    id: i32,
    #[field(max_len = 100)]
    name: String,
    place: i64,
    #[subset(of = Reading, limit = 5, order(-number), fields(number: i64))]
    newest: Vec<NewestEntry>,
    #[computed(count = Reading)]
    readings: i64,
    #[computed(max = Reading.number)]
    highest: Option<i64>,
}

/// Of these a device has more than one transaction delivers to.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "events")]
struct Event {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    device: Ref<Device>,
    #[denormalize(from = device.name)]
    #[field(max_len = 100)]
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "alarms")]
struct Alarm {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    device: Ref<Device>,
    #[denormalize(from = device.place, consistency = atomic)]
    place: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "readings")]
struct Reading {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref(order(-number))]
    device: Ref<Device>,
    number: i64,
    at: DateTime,
}

const DEVICES: i32 = 3;
const EVENTS_EACH: i32 = 1_500;
const ALARMS_EACH: i32 = 20;

async fn stored(odm: &Odm) {
    odm.sync().await.unwrap();
    assert!(odm.server().await.unwrap().has_transactions());
    let devices = (0..DEVICES).map(|id| NewDevice {
        id,
        name: "0".to_owned(),
        place: 0,
    });
    odm.collection::<Device>().insert_many(devices).await.unwrap();
    let events = (0..DEVICES * EVENTS_EACH).map(|id| NewEvent {
        id,
        device: Ref::new(id % DEVICES),
    });
    odm.collection::<Event>().insert_many(events).await.unwrap();
    let alarms = (0..DEVICES * ALARMS_EACH).map(|id| NewAlarm {
        id,
        device: Ref::new(id % DEVICES),
    });
    odm.collection::<Alarm>().insert_many(alarms).await.unwrap();
}

/// The number in a name.
fn number(name: &str) -> u64 {
    name.parse()
        .unwrap_or_else(|_| panic!("`{name}` was never written"))
}

/// The results that a writer got which renames a device.
struct Renamed {
    device: i32,
    /// The number of the last name that was confirmed, and that of the last that was asked for.
    confirmed: u64,
    tried: u64,
    failed: u64,
}

/// Renames a device, whose only writer it is, until it is to stop.
async fn rename(odm: Odm, device: i32, stop: Stop) -> Renamed {
    let devices = odm.collection::<Device>();
    let mut told = Renamed {
        device,
        confirmed: 0,
        tried: 0,
        failed: 0,
    };
    while !stop.is_told() {
        told.tried += 1;
        let name = told.tried.to_string();
        match devices.update(device).set(|d| d.name, name).await {
            Ok(_) => told.confirmed = told.tried,
            Err(_) => told.failed += 1,
        }
    }
    told
}

#[test]
fn fan_outs_reach_every_holder_although_the_primary_died() {
    let nodes = Nodes::of_environment();
    nodes.restart_all();
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Device, Event, Alarm, Reading]).unwrap();
        // In many small batches, so that there is always one under way.
        let odm = odm.with_fan_out(FanOut::new().batch(100).pause(Duration::from_millis(5)));
        stored(&odm).await;
        let stop = Stop::default();
        let writers = (0..DEVICES)
            .map(|device| tokio::spawn(rename(odm.clone(), device, stop.clone())))
            .collect();
        let told = while_primaries_die(&nodes, &stop, writers).await;
        odm.recover().await.unwrap();
        assert_clean(&odm).await;
        for Renamed {
            device,
            confirmed,
            tried,
            failed,
        } in told
        {
            println!("device {device}: {confirmed} of {tried} names confirmed last, {failed} refused");
            assert!(confirmed > 0, "something happened");
            let stored = odm.collection::<Device>().get(device).await.unwrap().unwrap();
            let last = number(&stored.name);
            assert!((confirmed..=tried).contains(&last), "{last}: confirmed, and lost");
            let events = odm.collection::<Event>();
            let named = events.find(|e| e.device.eq(Ref::new(device)) & e.name.eq(&stored.name));
            assert_eq!(named.count().await.unwrap(), EVENTS_EACH as u64);
        }
    });
}

/// The results that a writer of transactions got.
struct Wrote {
    device: i32,
    confirmed: HashSet<i64>,
    tried: i64,
    failed: u64,
}

/// Inserts readings of a device, and writes the number of each into the device in the same transaction.
async fn write(odm: Odm, device: i32, stop: Stop) -> Wrote {
    let mut told = Wrote {
        device,
        confirmed: HashSet::new(),
        tried: 0,
        failed: 0,
    };
    while !stop.is_told() {
        told.tried += 1;
        let number = told.tried;
        let done = odm
            .transaction(async |tx| {
                let reading = NewReading {
                    device: Ref::new(device),
                    number,
                    at: DateTime::now(),
                };
                tx.collection::<Reading>().insert(reading).await?;
                tx.collection::<Device>()
                    .update(device)
                    .set(|d| d.place, number)
                    .await?;
                Ok(())
            })
            .await;
        match done {
            Ok(()) => {
                told.confirmed.insert(number);
            }
            Err(_) => told.failed += 1,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    told
}

#[test]
fn transactions_are_whole_although_the_primary_died() {
    let nodes = Nodes::of_environment();
    nodes.restart_all();
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Device, Event, Alarm, Reading]).unwrap();
        stored(&odm).await;
        let stop = Stop::default();
        let writers = (0..DEVICES)
            .map(|device| tokio::spawn(write(odm.clone(), device, stop.clone())))
            .collect();
        let told = while_primaries_die(&nodes, &stop, writers).await;
        // They were updated in the transactions: no work is pending.
        assert_clean(&odm).await;
        for Wrote {
            device,
            confirmed,
            tried,
            failed,
        } in told
        {
            println!(
                "device {device}: {} of {tried} confirmed, {failed} refused",
                confirmed.len()
            );
            assert!(!confirmed.is_empty(), "something happened");
            let stored = odm.collection::<Device>().get(device).await.unwrap().unwrap();
            let readings = odm.collection::<Reading>();
            let readings = readings
                .find(|r| r.device.eq(Ref::new(device)))
                .all()
                .await
                .unwrap();
            let numbers: HashSet<i64> = readings.iter().map(|reading| reading.number).collect();
            assert_eq!(numbers.len(), readings.len(), "none was written twice");
            let lost: Vec<&i64> = confirmed.difference(&numbers).collect();
            assert!(lost.is_empty(), "confirmed, and lost: {lost:?}");
            // The last of them that is there has also set the place, and all that is derived from both.
            let last = numbers.iter().copied().max().unwrap_or(0);
            assert_eq!(stored.place, last);
            assert_eq!(stored.readings, numbers.len() as i64);
            assert_eq!(stored.highest, Some(last));
            assert_eq!(stored.newest.first().map(|entry| entry.number), Some(last));
            let alarms = odm.collection::<Alarm>();
            let placed = alarms.find(|a| a.device.eq(Ref::new(device)) & a.place.eq(last));
            assert_eq!(placed.count().await.unwrap(), ALARMS_EACH as u64);
        }
    });
}
