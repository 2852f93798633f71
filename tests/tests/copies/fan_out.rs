//! A change of a source with very many holders: in batches, and where an interrupted one goes on.

use futures::TryStreamExt;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::bson::{Bson, Document as Doc, doc, oid::ObjectId};
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::{TestDb, assert_clean, require_transactions, with_db};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// More than one transaction delivers to.
const HOLDERS: i32 = 1_050;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "devices")]
struct Device {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    place: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "events")]
struct Event {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    device: Ref<Device>,
    #[denormalize(from = device.name)]
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
    place: String,
}

/// Two devices, of which the first has the holders but for every tenth.
async fn stored(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Device, Event]).unwrap();
    odm.sync().await.unwrap();
    let device = |id| NewDevice {
        id,
        name: "old".into(),
        place: "Bonn".into(),
    };
    odm.collection::<Device>()
        .insert_many([device(1), device(2)])
        .await
        .unwrap();
    let events = (0..HOLDERS * 10 / 9 + 1).map(|id| NewEvent {
        id,
        device: Ref::new(if id % 10 == 9 { 2 } else { 1 }),
    });
    odm.collection::<Event>().insert_many(events).await.unwrap();
    odm
}

async fn named(odm: &Odm, name: &str) -> u64 {
    let events = odm.collection::<Event>();
    events.find(|e| e.name.eq(name)).count().await.unwrap()
}

#[odm_tests::test]
fn every_holder_is_reached_whatever_the_size_of_the_batches() {
    with_db(async |t| {
        let odm = stored(&t).await;
        let events = odm.collection::<Event>();
        let holders = events.find(|e| e.device.eq(Ref::new(1)));
        let holders = holders.count().await.unwrap();
        assert!(holders > 1_000, "{holders}");
        let both = [odm.clone(), t.standalone_of(&odm).await];
        // The replies with ids behind a transaction, whose look has read the first ones already, and without one: one for each batch, and
        // at the end of a full one there may be an empty one.
        let cases = [
            (100, Duration::ZERO, holders / 100 + 1, (1, holders / 100 + 1)),
            (holders as usize / 2, Duration::ZERO, 3, (1, 3)),
            (holders as usize, Duration::ZERO, 1, (1, 1)),
            (2_000, Duration::ZERO, 1, (1, 1)),
            (usize::MAX, Duration::ZERO, 1, (1, 1)),
            (400, Duration::from_millis(1), 3, (1, 3)),
            // As many as are asked for at first.
            (holders as usize, Duration::from_millis(1), 1, (1, 1)),
        ];
        for (size, pause, batches, replies) in cases {
            for odm in &both {
                let transactions =
                    odm.server().await.unwrap().has_transactions() && !std::ptr::eq(odm, &both[1]);
                let told = Arc::new(Mutex::new(Vec::new()));
                let tell = told.clone();
                let fan_out = FanOut::new().batch(size).pause(pause).progress(move |progress| {
                    let so_far = (progress.batches, progress.changed, progress.source.clone());
                    tell.lock().unwrap().push(so_far);
                });
                let odm = odm.clone().with_fan_out(fan_out);
                let name = format!("{size} with {pause:?} between them, transactions: {transactions}");
                t.commands.clear();
                let done = odm
                    .collection::<Device>()
                    .update(1)
                    .set(|d| d.name, &name)
                    .await
                    .unwrap();
                let sent = t.commands.take();
                assert_eq!(done.copies_updated, holders, "{name}");
                assert_eq!(named(&odm, &name).await, holders, "{name}");
                // On a cluster, without a declared shard key, the source is changed by one command and read by another.
                let is_sharded = odm.server().await.unwrap().topology() == odm::server::Topology::Sharded;
                let told = told.lock().unwrap();
                assert_eq!(told.last(), Some(&(batches, holders, 1.into())), "{name}");
                let counts: Vec<u64> = told.iter().map(|(batches, ..)| *batches).collect();
                assert_eq!(counts, (1..=batches).collect::<Vec<_>>(), "{name}");
                // In the transaction the source, as it is then, whether it has few holders, and the mark of pending work. Behind
                // it, or without one behind the update of the source, the source once more. Then the replies, the batches,
                // after each two of them the note how far they have come (with a pause after each one), and that no work is
                // pending.
                let count =
                    |names: &[&str]| sent.iter().filter(|sent| names.contains(&sent.as_str())).count() as u64;
                let (before, looks, replies) = if transactions {
                    (1 + u64::from(is_sharded), 2 + u64::from(is_sharded), replies.0)
                } else {
                    (1, 1, replies.1)
                };
                let more = count(&["find", "getMore"]).checked_sub(looks + replies);
                let is_full = u64::from(holders % size as u64 == 0);
                assert!(more.is_some_and(|more| more <= is_full), "{name}: {sent:?}");
                let notes = batches.div_ceil(if pause.is_zero() { 2 } else { 1 }) - 1;
                assert_eq!(
                    count(&["update"]),
                    before + batches + notes + 1,
                    "{name}: {sent:?}"
                );
            }
        }
        assert_eq!(odm.recover().await.unwrap().documents, 0, "no work is pending");
        assert_eq!(named(&odm, "old").await, HOLDERS as u64 * 10 / 9 + 1 - holders);
    });
}

#[odm_tests::test]
fn an_interrupted_fan_out_resumes_where_it_stopped() {
    with_db(async |t| {
        let odm = stored(&t).await;
        let devices = t.db.collection::<Doc>("devices");
        let version = devices.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        let version = version.get_document("_odm").unwrap().get_i64("version").unwrap() + 1;
        // A process has changed the name, has delivered it up to an id, and has died. Copies before that id are left out, to
        // be seen here.
        let changed = doc! {
            "name": "new",
            "_odm.version": version,
            "_odm.pending.operation": ObjectId::new(),
            "_odm.pending.progress": { "events%2edevice": { "version": version, "last": 600 } },
        };
        devices
            .update_one(doc! { "_id": 1 }, doc! { "$set": changed })
            .await
            .unwrap();
        let odm = odm.with_fan_out(FanOut::new().batch(50));
        let recovered = odm.recover().await.unwrap();
        assert_eq!(recovered.documents, 1);
        let events = odm.collection::<Event>();
        let behind = events.find(|e| e.device.eq(Ref::new(1)) & e.id.gt(600));
        let behind = behind.count().await.unwrap();
        assert_eq!((named(&odm, "new").await, recovered.copies), (behind, behind));
        let before = events.find(|e| e.name.eq("new") & e.id.lte(600));
        assert_eq!(before.count().await.unwrap(), 0);
        // Of another version the note says where to begin: behind its place, and with the first holders at the end.
        let changed = doc! { "name": "newer", "_odm.version": version + 1, "_odm.pending.operation": ObjectId::new(), "_odm.pending.progress": {
            "events%2edevice": { "version": version, "last": 600 },
        } };
        devices
            .update_one(doc! { "_id": 1 }, doc! { "$set": changed })
            .await
            .unwrap();
        odm.recover().await.unwrap();
        assert_eq!(named(&odm, "new").await, 0);
        assert_clean(&odm).await;

        // One that has begun behind 600 and has come to 900 goes on to the end, and then to the first ones; one that has come to 300 of
        // these goes on to 600.
        let all = named(&odm, "newer").await;
        let up_to = async |id: i32| {
            let events = events.find(|e| e.device.eq(Ref::new(1)) & e.id.lte(id));
            events.count().await.unwrap()
        };
        let (of_300, of_600, of_900) = (up_to(300).await, up_to(600).await, up_to(900).await);
        for (at, around, last, expected) in [
            (2, false, 900, all - (of_900 - of_600)),
            (3, true, 300, of_600 - of_300),
        ] {
            let name = format!("of version {at}");
            let changed = doc! {
                "name": &name, "_odm.version": version + at, "_odm.pending.operation": ObjectId::new(),
                "_odm.pending.progress": { "events%2edevice": {
                    "version": version + at, "last": last, "from": 600, "around": around,
                } },
            };
            let changed = doc! { "$set": changed };
            devices.update_one(doc! { "_id": 1 }, changed).await.unwrap();
            assert_eq!(odm.recover().await.unwrap().copies, expected, "{name}");
            assert_eq!(named(&odm, &name).await, expected, "{name}");
        }
    });
}

/// A source that changes again before the first note of each delivery: every process leaves the rest to the next one. The next one
/// goes on where the one before has stopped, so all holders get a new value in one round, and not the first ones alone.
#[odm_tests::test]
fn all_holders_are_reached_in_turn_while_the_source_keeps_changing() {
    with_db(async |t| {
        let odm = stored(&t).await;
        let holders = named(&odm, "old").await - HOLDERS as u64 / 9;
        let batches = holders.div_ceil(100);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (tell, db) = (seen.clone(), t.db.clone());
        let runtime = tokio::runtime::Handle::current();
        let slow = FanOut::new()
            .batch(100)
            .pause(Duration::from_millis(1))
            .progress(move |_| {
                let again = async {
                    let written = tell.lock().unwrap().len() as u64 + 1;
                    let old = doc! { "device": 1, "name": "old" };
                    let old = db.collection::<Doc>("events").count_documents(old).await.unwrap();
                    tell.lock().unwrap().push(old);
                    if written < 2 * batches {
                        change(&db, written).await;
                    }
                };
                tokio::task::block_in_place(|| runtime.block_on(again));
            });
        let slow = odm.clone().with_fan_out(slow);
        change(&t.db, 0).await;
        for _ in 0..2 * batches {
            slow.recover().await.unwrap();
        }
        let left = seen.lock().unwrap().clone();
        let expected = (1..=batches).map(|written| holders.saturating_sub(written * 100));
        assert_eq!(left[..batches as usize], expected.collect::<Vec<_>>());
        // When it has stopped changing, everybody has the last value.
        assert_eq!(named(&odm, &format!("change {}", 2 * batches - 1)).await, holders);
        assert_clean(&odm).await;
    });

    /// As a process changes the first device that dies before its delivery.
    async fn change(db: &odm::mongodb::Database, number: u64) {
        let change = doc! {
            "$set": {
                "name": format!("change {number}"), "_odm.pending.operation": ObjectId::new(),
                "_odm.pending.fields.*": ObjectId::new(),
            },
            "$inc": { "_odm.version": 1_i64 },
        };
        let devices = db.collection::<Doc>("devices");
        devices.update_one(doc! { "_id": 1 }, change).await.unwrap();
    }
}

#[odm_tests::test]
fn atomic_copies_follow_in_the_transaction_however_many_there_are() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Device, Alarm]).unwrap();
        require_transactions(&odm).await;
        odm.sync().await.unwrap();
        let device = NewDevice {
            id: 1,
            name: "fan".into(),
            place: "Bonn".into(),
        };
        odm.collection::<Device>().insert(device).await.unwrap();
        let alarms = (0..HOLDERS).map(|id| NewAlarm {
            id,
            device: Ref::new(1),
        });
        odm.collection::<Alarm>().insert_many(alarms).await.unwrap();
        let there = async |alarms: odm::Collection<Alarm>| alarms.find(|a| a.place.eq("Köln")).count().await;
        let within = odm
            .transaction(async |tx| {
                tx.collection::<Device>()
                    .update(1)
                    .set(|d| d.place, "Köln")
                    .await?;
                there(tx.collection()).await
            })
            .await
            .unwrap();
        assert_eq!(there(odm.collection()).await.unwrap(), HOLDERS as u64);
        assert_eq!(within, HOLDERS as u64);
        let pending = doc! { "_odm.pending.operation": { "$exists": true } };
        let devices = t.db.collection::<Doc>("devices");
        let pending = devices.count_documents(pending);
        assert_eq!(pending.await.unwrap(), 0);
    });
}

/// A slow delivery holds up no other write, and documents written meanwhile are right at the end. It waits after its
/// second batch until the others have done what they do.
#[odm_tests::test]
fn other_clients_can_write_while_a_fan_out_pauses() {
    with_db(async |t| {
        let odm = stored(&t).await;
        let pause = Duration::from_millis(20);
        let (reached, mut is_reached) = tokio::sync::mpsc::unbounded_channel();
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        let slow = FanOut::new().batch(100).pause(pause).progress(move |progress| {
            if progress.batches == 2 {
                reached.send(()).unwrap();
                tokio::task::block_in_place(|| may_go_on.lock().unwrap().recv().unwrap());
            }
        });
        let slow = odm.clone().with_fan_out(slow);
        let started = std::time::Instant::now();
        let delivery = tokio::spawn(async move {
            let devices = slow.collection::<Device>();
            devices.update(1).set(|d| d.name, "slow").await.unwrap()
        });
        is_reached.recv().await.unwrap();
        // A holder of either device, before and behind where the delivery is; one that comes, one that moves, one that goes.
        let (devices, events) = (odm.collection::<Device>(), odm.collection::<Event>());
        let other = devices.update(2).set(|d| d.name, "other").await.unwrap();
        assert!(other.copies_updated > 0);
        for id in [-1, 5_000] {
            let new = NewEvent {
                id,
                device: Ref::new(1),
            };
            assert_eq!(events.insert(new).await.unwrap().name, "slow");
        }
        for id in [2, 1_000] {
            events.update(id).set(|e| e.device, Ref::new(2)).await.unwrap();
        }
        for id in [9, 1_009] {
            events.update(id).set(|e| e.device, Ref::new(1)).await.unwrap();
        }
        for id in [3, 1_001] {
            events.delete(id).await.unwrap();
        }
        assert!(!delivery.is_finished());
        go_on.send(()).unwrap();
        let done = delivery.await.unwrap();
        assert!(started.elapsed() >= 10 * pause, "{:?}", started.elapsed());
        assert!(done.copies_updated >= HOLDERS as u64 - 5, "{done:?}");
        assert_eq!(odm.recover().await.unwrap().documents, 0);
        assert_clean(&odm).await;
        assert_eq!(named(&odm, "old").await, 0);
    });
}

/// A caller that stops waiting for a delivery leaves the rest of it to a recovery.
#[odm_tests::test]
fn a_fan_out_that_is_cancelled_in_a_pause_is_finished_by_recover() {
    with_db(async |t| {
        let odm = stored(&t).await;
        let told = Arc::new(Mutex::new(0));
        let tell = told.clone();
        let slow = FanOut::new()
            .batch(100)
            .pause(Duration::from_secs(60))
            .progress(move |progress| {
                *tell.lock().unwrap() = progress.changed;
            });
        let devices = odm.clone().with_fan_out(slow).collection::<Device>();
        let update = devices.update(1).set(|d| d.name, "new").into_future();
        let waited = tokio::time::timeout(Duration::from_secs(2), update).await;
        assert!(waited.is_err(), "{waited:?}");
        let before = *told.lock().unwrap();
        assert!((1..HOLDERS as u64).contains(&before), "{before}");
        assert_eq!(named(&odm, "new").await, before);
        let recovered = odm.recover().await.unwrap();
        assert_eq!(recovered.documents, 1);
        assert_clean(&odm).await;
        let events = odm.collection::<Event>();
        let holders = events.find(|e| e.device.eq(Ref::new(1)));
        assert_eq!(named(&odm, "new").await, holders.count().await.unwrap());
    });
}

/// One holder that can't be written does not keep the others from their copies, and is not forgotten.
#[odm_tests::test]
fn a_holder_whose_update_fails_does_not_block_the_others() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = stored(&t).await;
        let events = t.db.collection::<Doc>("events");
        let of_all = odm.collection::<Event>();
        let holders = of_all.find(|e| e.device.eq(Ref::new(1)));
        let holders = holders.count().await.unwrap();
        // Nothing can be set within what is no document. One is in the middle and one is the first.
        let broken = doc! { "_id": { "$in": [0, 501] } };
        let copied = events.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        let copied = copied.get("_copied").cloned();
        let spoil = async |with: Bson| {
            let spoilt = doc! { "$set": { "_copied": with } };
            events.update_many(broken.clone(), spoilt).await.unwrap();
        };
        for (round, batch) in [100, 2_000].into_iter().enumerate() {
            let name = format!("round {round}");
            spoil("?".into()).await;
            let few = odm.clone().with_fan_out(FanOut::new().batch(batch));
            let refused = few.collection::<Device>().update(1).set(|d| d.name, &name).await;
            assert!(matches!(refused, Err(Error::NotADocument { .. })), "{refused:?}");
            assert_eq!(named(&odm, &name).await, holders - 2);
            // The work stays pending until it can be applied.
            for _ in 0..2 {
                let refused = few.recover().await;
                assert!(matches!(refused, Err(Error::NotADocument { .. })), "{refused:?}");
            }
            spoil(copied.clone().unwrap()).await;
            let recovered = few.recover().await.unwrap();
            assert_eq!((recovered.documents, recovered.copies), (1, 2));
            assert_eq!(named(&odm, &name).await, holders);
            assert_eq!(odm.recover().await.unwrap().documents, 0);
        }
        assert_clean(&odm).await;
    });
}

/// The last of all types has none behind it.
#[odm_tests::test]
fn a_fan_out_orders_ids_of_every_type() {
    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[embed(id)]
    #[serde(untagged)]
    enum Key {
        Number(i32),
        Text(#[field(max_len = 10)] String),
    }
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "plants")]
    struct Plant {
        #[serde(rename = "_id")]
        id: i32,
        name: String,
    }
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "pots")]
    struct Pot {
        #[serde(rename = "_id")]
        id: Key,
        #[reference]
        plant: Ref<Plant>,
        #[denormalize(from = plant.name, consistency = eventual)]
        name: String,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Plant, Pot]).unwrap();
        // The out-of-band id is not of this type.
        let raw = t.db.collection::<odm::bson::Document>("pots");
        let pot = |id: Bson| doc! { "_id": id, "plant": 1, "name": "" };
        let ids = [Bson::MinKey, 1.into(), "x".into(), true.into(), Bson::MaxKey];
        raw.insert_many(ids.iter().cloned().map(pot)).await.unwrap();
        let plants = odm.clone().with_fan_out(FanOut::new().batch(1));
        let plants = plants.collection::<Plant>();
        let plant = Plant {
            id: 1,
            name: "fern".into(),
        };
        plants.insert(plant).await.unwrap();
        let named = async || {
            let named = raw.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
            let named: Vec<odm::bson::Document> = named.try_collect().await.unwrap();
            let name =
                |pot: odm::bson::Document| (pot.get("_id").cloned(), pot.get_str("name").unwrap().to_owned());
            named.into_iter().map(name).collect::<Vec<_>>()
        };
        let all = |name: &str| {
            ids.iter()
                .map(|id| (Some(id.clone()), name.to_owned()))
                .collect::<Vec<_>>()
        };
        let done = plants.update(1).set(|p| p.name, "moss").await.unwrap();
        assert_eq!((named().await, done.copies_updated), (all("moss"), 5));
        raw.update_many(doc! {}, doc! { "$set": { "name": "", "_copied": {} } })
            .await
            .unwrap();
        odm.backfill().again().await.unwrap();
        assert_eq!(named().await, all("moss"));
        assert_eq!(odm.recover().await.unwrap().documents, 0);
        // One that begins behind any of them comes to the others in the end.
        let gentle = odm.clone().with_fan_out(FanOut::new().batch(1));
        for (at, last) in ids.iter().enumerate() {
            let name = format!("fern {at}");
            let change = doc! {
                "$set": {
                    "name": &name, "_odm.pending.operation": ObjectId::new(), "_odm.pending.fields.*": ObjectId::new(),
                    "_odm.pending.progress": { "pots%2eplant": { "version": 1, "last": last.clone() } },
                },
                "$inc": { "_odm.version": 1_i64 },
            };
            let plants = t.db.collection::<Doc>("plants");
            plants.update_one(doc! { "_id": 1 }, change).await.unwrap();
            assert_eq!(gentle.recover().await.unwrap().copies, 5, "{name}");
            assert_eq!(named().await, all(&name));
        }
    });
}

/// A source with more holders than that is committed before its copies are updated, and one without holders leaves no pending work.
#[odm_tests::test]
fn the_number_of_holders_updated_in_the_transaction_is_configurable() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Device, Event]).unwrap();
        require_transactions(&odm).await;
        odm.sync().await.unwrap();
        let devices = (1..=3).map(|id| NewDevice {
            id,
            name: "old".into(),
            place: "Bonn".into(),
        });
        odm.collection::<Device>().insert_many(devices).await.unwrap();
        // Of the first device four, of the second one one.
        let events = (1..=5).map(|id| NewEvent {
            id,
            device: Ref::new(1 + id / 5),
        });
        odm.collection::<Event>().insert_many(events).await.unwrap();
        for (most, device, behind) in [
            (usize::MAX, 1, false),
            (4, 1, false),
            (3, 1, true),
            (0, 1, true),
            (0, 2, true),
            (0, 3, false),
        ] {
            let odm = odm.clone().with_fan_out(FanOut::new().in_transaction(most));
            t.commands.take();
            let name = format!("most {most} of {device}");
            let devices = odm.collection::<Device>();
            let done = devices.update(device).set(|d| d.name, &name).await.unwrap();
            assert_eq!(done.copies_updated, [4, 1, 0][device as usize - 1], "{name}");
            let sent = t.commands.take();
            let commit = sent.iter().position(|sent| sent == "commitTransaction").unwrap();
            let is_behind = sent[commit..].iter().any(|sent| sent == "update");
            assert_eq!(is_behind, behind, "{name}: {sent:?}");
            assert_eq!(named(&odm, &name).await, [4, 1, 0][device as usize - 1]);
            assert_clean(&odm).await;
        }
    });
}

/// The commands of a change of a device's name.
async fn renaming(t: &TestDb, odm: &Odm, device: i32, name: &str) -> Vec<String> {
    t.commands.clear();
    let devices = odm.collection::<Device>();
    let done = devices.update(device).set(|d| d.name, name).await.unwrap();
    let sent = t.commands.take();
    assert_eq!(named(odm, name).await, done.copies_updated, "{device}: {sent:?}");
    sent
}

fn device(id: i32) -> NewDevice {
    NewDevice {
        id,
        name: "old".into(),
        place: "Bonn".into(),
    }
}

fn event(id: i32, device: i32) -> NewEvent {
    NewEvent {
        id,
        device: Ref::new(device),
    }
}

const WITHOUT_A_LOOK: [&str; 3] = ["findAndModify", "update", "commitTransaction"];

#[odm_tests::test]
fn a_transaction_looks_for_holders_only_where_there_may_be_many() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Device, Event, Alarm]).unwrap();
        odm.sync().await.unwrap();
        require_transactions(&odm).await;
        // On a cluster, without a declared shard key, a document is changed by one command and read by another.
        odm_tests::require_no_cluster(&odm).await;
        let odm = odm.with_fan_out(FanOut::new().in_transaction(2));
        let (devices, events) = (odm.collection::<Device>(), odm.collection::<Event>());
        devices.insert_many([device(1), device(2)]).await.unwrap();
        assert_eq!(renaming(&t, &odm, 1, "of none").await, WITHOUT_A_LOOK);
        events.insert(event(1, 1)).await.unwrap();
        events.insert_many([event(2, 1), event(9, 2)]).await.unwrap();
        assert_eq!(renaming(&t, &odm, 1, "of two").await, WITHOUT_A_LOOK);
        // Another reference: the third holder of the one, the second of the other.
        events.update(9).set(|e| e.device, Ref::new(1)).await.unwrap();
        let sent = renaming(&t, &odm, 1, "of three").await;
        assert_eq!(sent[..2], ["findAndModify", "find"], "{sent:?}");
        let raw = t.db.collection::<Doc>("devices");
        let left = async |id: i32| {
            let stored = raw.find_one(doc! { "_id": id }).await.unwrap().unwrap();
            let own = stored.get_document("_odm").unwrap();
            own.get_i64("holders_left").unwrap()
        };
        assert_eq!((left(1).await, left(2).await), (997, 999));
        // A deletion of holders says nothing of how many are left.
        events.delete_where(|e| e.id.gt(1)).await.unwrap();
        assert_eq!(left(1).await, 997);

        // Of a document that another program has inserted nothing is known, also when holders have been added.
        let foreign = doc! { "_id": 3, "name": "old", "place": "Ulm" };
        raw.insert_one(foreign).await.unwrap();
        let sent = renaming(&t, &odm, 3, "foreign").await;
        assert_eq!(sent[..2], ["findAndModify", "find"], "{sent:?}");
        events.insert(event(30, 3)).await.unwrap();
        assert_eq!(left(3).await, -1);
        let sent = renaming(&t, &odm, 3, "still foreign").await;
        assert_eq!(sent[..2], ["findAndModify", "find"], "{sent:?}");

        // Copies that are always updated in the transaction need no look.
        let alarm = |id| NewAlarm {
            id,
            device: Ref::new(3),
        };
        odm.collection::<Alarm>()
            .insert_many((1..=5).map(alarm))
            .await
            .unwrap();
        t.commands.clear();
        let moved = devices.update(3).set(|d| d.place, "Trier").await.unwrap();
        assert_eq!(moved.copies_updated, 5);
        assert_eq!(t.commands.take(), WITHOUT_A_LOOK);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn an_upserted_source_and_a_replaced_one_know_their_holders() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Device, Event]).unwrap();
        odm.sync().await.unwrap();
        require_transactions(&odm).await;
        // On a cluster, without a declared shard key, a document is changed by one command and read by another.
        odm_tests::require_no_cluster(&odm).await;
        let (devices, events) = (odm.collection::<Device>(), odm.collection::<Event>());
        for name in ["new", "new", "another"] {
            let upserted = devices
                .update(1)
                .set(|d| d.name, name)
                .set(|d| d.place, "Bonn")
                .upsert();
            upserted.await.unwrap();
        }
        events.insert(event(1, 1)).await.unwrap();
        assert_eq!(renaming(&t, &odm, 1, "upserted").await, WITHOUT_A_LOOK);
        let stored = devices.get(1).await.unwrap().unwrap();
        t.commands.clear();
        let replaced = Device {
            name: "replaced".into(),
            ..stored
        };
        devices.replace(replaced).await.unwrap();
        assert_eq!(t.commands.take(), WITHOUT_A_LOOK);
        assert_eq!(renaming(&t, &odm, 1, "once more").await, WITHOUT_A_LOOK);
        let own =
            t.db.collection::<Doc>("devices")
                .find_one(doc! {})
                .await
                .unwrap()
                .unwrap();
        let left = own.get_document("_odm").unwrap().get_i64("holders_left");
        assert_eq!(left.unwrap(), 999);
    });
}

/// Other programs may have stored more holders than a transaction can update: one that is run again looks.
#[odm_tests::test]
fn a_transaction_that_is_run_again_looks_for_holders() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Device, Event]).unwrap();
        odm.sync().await.unwrap();
        require_transactions(&odm).await;
        // On a cluster, without a declared shard key, a document is changed by one command and read by another.
        odm_tests::require_no_cluster(&odm).await;
        let odm = odm.with_fan_out(FanOut::new().in_transaction(2));
        odm.collection::<Device>()
            .insert_many([device(1), device(2)])
            .await
            .unwrap();
        let foreign = (1..=5).map(|id| doc! { "_id": id, "device": 1, "name": "old" });
        t.db.collection::<Doc>("events")
            .insert_many(foreign)
            .await
            .unwrap();
        let attempts = AtomicUsize::new(0);
        let raw = t.db.collection::<Doc>("devices");
        t.commands.clear();
        odm.transaction(async |tx| {
            let devices = tx.collection::<Device>();
            devices.get(2).await?;
            let attempt = attempts.fetch_add(1, Ordering::SeqCst);
            if attempt == 0 {
                // Committed after the snapshot of the transaction, whose write of the same document fails.
                raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "place": "Ulm" } })
                    .await
                    .unwrap();
            }
            devices.update(1).set(|d| d.name, "new").await
        })
        .await
        .unwrap();
        assert_eq!(attempts.load(Ordering::SeqCst), 2);
        let sent = t.commands.take();
        let again = sent.iter().position(|name| name == "abortTransaction").unwrap();
        let again: Vec<&str> = sent[again + 1..].iter().map(String::as_str).collect();
        assert_eq!(again[..3], ["find", "findAndModify", "find"], "{sent:?}");
        assert_eq!(named(&odm, "new").await, 5);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "meters")]
struct Meter {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[field(max = 1)]
    uses: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "readings")]
struct Reading {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    meter: Ref<Meter>,
    #[denormalize(from = meter.name)]
    name: String,
}

/// Copies the copy of a reading, so a change of the copy gives the reading a new version.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "reports")]
struct Report {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    reading: Ref<Reading>,
    #[denormalize(from = reading.name)]
    name: String,
}

/// Of several writes, one changes a copied field, one another field, and one misses its document.
#[odm_tests::test]
fn a_bulk_writes_the_holders_of_the_documents_whose_copied_fields_it_has_changed() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Meter, Reading, Report]).unwrap();
        odm.sync().await.unwrap();
        let meters = odm.collection::<Meter>();
        for id in 1..=3 {
            let name = "old".to_owned();
            meters.insert(NewMeter { id, name, uses: 0 }).await.unwrap();
            let meter = Ref::new(id);
            odm.collection::<Reading>()
                .insert(NewReading { id, meter })
                .await
                .unwrap();
            let reading = Ref::new(id);
            odm.collection::<Report>()
                .insert(NewReport { id, reading })
                .await
                .unwrap();
        }
        let holders = async |id: i32| {
            let mut all = Vec::new();
            for name in ["readings", "reports"] {
                let stored = t.db.collection::<Doc>(name).find_one(doc! { "_id": id }).await;
                all.push(stored.unwrap().unwrap());
            }
            all
        };
        let before = (holders(2).await, holders(3).await);
        let missed = || meters.update(3).set(|m| m.name, "new").inc(|m| m.uses, 2);
        let bulk = || odm.bulk().without_bulk_write_command();
        let done = bulk()
            .add(meters.update(1).set(|m| m.name, "new"))
            .add(meters.update(2).inc(|m| m.uses, 1))
            .add(missed());
        assert_eq!(done.await.unwrap().modified, 2);
        assert_eq!(bulk().add(missed()).await.unwrap().modified, 0);
        assert_eq!(before, (holders(2).await, holders(3).await));
        let changed = holders(1).await;
        assert!(
            changed.iter().all(|one| one.get_str("name").unwrap() == "new"),
            "{changed:?}"
        );
        assert_clean(&odm).await;
    });
}
