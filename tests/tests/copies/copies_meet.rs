//! What processes do to copies at the same time, where each of them is right by itself: one is stopped before each of its
//! commands in turn, and others do their work meanwhile.

use super::stopped::Process;
use odm::Error;
use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::{TestDb, assert_clean_after, with_db, with_transactions};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::oneshot;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub place: String,
    #[computed(count = Job)]
    pub jobs: i64,
}

/// Its reference is emptied when the host goes.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
pub struct Message {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(on_delete = nullify)]
    pub host: Option<Ref<Host>>,
    #[denormalize(from = host.name)]
    pub host_name: Option<String>,
}

/// Goes with the host.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "jobs")]
pub struct Job {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(on_delete = cascade)]
    pub host: Ref<Host>,
    #[denormalize(from = host.name)]
    pub host_name: String,
}

/// Holds the host back.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "leases")]
pub struct Lease {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(on_delete = restrict)]
    pub host: Ref<Host>,
    #[denormalize(from = host.place)]
    pub host_place: String,
}

/// Holds a lease back.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "bills")]
pub struct Bill {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(on_delete = restrict)]
    pub lease: Ref<Lease>,
}

fn handle(db: odm::mongodb::Database) -> Odm {
    Odm::new(db, models![Host, Message, Job, Lease, Bill]).unwrap()
}

async fn odm(t: &TestDb) -> Odm {
    let odm = handle(t.db.clone());
    odm.sync().await.unwrap();
    odm
}

async fn emptied(odm: &Odm) {
    for collection in ["hosts", "messages", "jobs", "leases", "bills"] {
        let all = odm.database().collection::<Raw>(collection);
        all.delete_many(doc! {}).await.unwrap();
    }
}

fn host(name: &str) -> NewHost {
    NewHost {
        id: 1,
        name: name.to_owned(),
        place: format!("{name}'s place"),
    }
}

/// Puts a document of one kind there that refers to host 1, if that can be.
async fn refer(odm: &Odm, kind: &str) {
    let host = Ref::new(1);
    let referred = match kind {
        "a message" => {
            let message = NewMessage {
                id: 7,
                host: Some(host),
            };
            odm.collection::<Message>().insert(message).await.map(drop)
        }
        "a job" => {
            let job = NewJob { id: 7, host };
            odm.collection::<Job>().insert(job).await.map(drop)
        }
        _ => {
            let lease = NewLease { id: 7, host };
            odm.collection::<Lease>().insert(lease).await.map(drop)
        }
    };
    match referred {
        Ok(()) | Err(Error::MissingReference { .. }) => {}
        Err(error) => panic!("{kind}: {error}"),
    }
}

/// A document comes between the two looks of a deletion, and a third client inserts the target again before the second one.
/// It has copied from the previous target, and the new one has not counted it.
#[odm_tests::test]
fn a_holder_inserted_during_a_deletion_is_in_sync_with_a_target_that_was_reinserted() {
    odm_tests::takes_long();
    with_db(async |t| {
        let other = odm(&t).await;
        let mut met = 0;
        for alone in [false, true] {
            let process = Process::new_in(alone, &t).await;
            let first = handle(process.db.clone());
            let other = if alone {
                t.standalone_of(&other).await
            } else {
                other.clone()
            };
            first.server().await.unwrap();
            for kind in ["a message", "a job", "a lease"] {
                for from in 0.. {
                    let mut ended = false;
                    for to in from.. {
                        emptied(&other).await;
                        other.collection::<Host>().insert(host("old")).await.unwrap();
                        let hosts = first.collection::<Host>();
                        let work = async move { hosts.delete(1).await };
                        let name = format!("{kind}, alone: {alone}, commands {from} and {to}");
                        let Ok(stopped) = process.until(from, work).await else {
                            ended = true;
                            break;
                        };
                        refer(&other, kind).await;
                        let stopped = match to {
                            _ if to == from => Ok(stopped),
                            to => stopped.until(to).await,
                        };
                        let done = match stopped {
                            Ok(stopped) => {
                                // Where it is there still, it stays as it is.
                                match other.collection::<Host>().insert(host("new")).await {
                                    Ok(_) => met += 1,
                                    Err(Error::DuplicateKey { .. }) => {}
                                    Err(error) => panic!("{name}: {error}"),
                                }
                                (stopped.go_on().await.unwrap(), true)
                            }
                            Err(done) => (done, false),
                        };
                        let (deleted, stopped) = done;
                        match deleted {
                            Ok(_) | Err(Error::StillReferenced { .. }) => {}
                            Err(error) => panic!("{name}: {error}"),
                        }
                        assert_clean_after(&other, &name).await;
                        assert_eq!(other.recover().await.unwrap().documents, 0, "{name}");
                        if !stopped {
                            break;
                        }
                    }
                    if ended {
                        break;
                    }
                }
            }
        }
        assert!(met >= 20, "the target was inserted again {met} times");
    });
}

/// On a standalone server: children are moved by a condition, and another client inserts one that matches it. The move has not seen
/// where it was, so an audit may have to find the parent that it left; the repair counts it where it is.
#[odm_tests::test]
fn a_child_that_comes_while_others_are_moved_by_a_condition_is_counted_by_a_repair() {
    with_db(async |t| {
        let other = t.standalone_of(&odm(&t).await).await;
        let process = Process::new_in(true, &t).await;
        let first = handle(process.db.clone());
        first.server().await.unwrap();
        let kinds = ["update_where", "bulk", "bulk with more"].map(|kind| [(kind, false), (kind, true)]);
        for (kind, some) in kinds.into_iter().flatten() {
            let mut stops = 0;
            loop {
                emptied(&other).await;
                let hosts = other.collection::<Host>();
                for id in [1, 2] {
                    hosts.insert(NewHost { id, ..host("a") }).await.unwrap();
                }
                if some {
                    let job = NewJob {
                        id: 6,
                        host: Ref::new(1),
                    };
                    other.collection::<Job>().insert(job).await.unwrap();
                }
                let first = first.clone();
                let work = async move {
                    let done = match kind {
                        "update_where" => {
                            let jobs = first.collection::<Job>();
                            let moved = jobs.update_where(|j| j.host.eq(Ref::new(1)));
                            moved.set(|j| j.host, Ref::new(2)).await.map(|done| done.modified)
                        }
                        _ => {
                            let bulk = first.bulk().add(
                                first
                                    .collection::<Job>()
                                    .update_where(|j| j.host.eq(Ref::new(1)))
                                    .set(|j| j.host, Ref::new(2)),
                            );
                            let bulk = match kind {
                                "bulk" => bulk,
                                _ => bulk.add(first.collection::<Job>().insert(NewJob {
                                    id: 8,
                                    host: Ref::new(1),
                                })),
                            };
                            bulk.await.map(|done| done.modified)
                        }
                    };
                    done.unwrap()
                };
                let (moved, stopped) = match process.until(stops, work).await {
                    Ok(stopped) => {
                        refer(&other, "a job").await;
                        (stopped.go_on().await.unwrap(), true)
                    }
                    Err(moved) => (moved, false),
                };
                assert!(moved >= u64::from(some), "{kind}: {moved}");
                let name = format!("{kind}, some there: {some}, before command {stops}");
                let repaired = other.repair_all().await.unwrap();
                assert!(repaired.left.is_clean(), "{name}: {repaired}");
                let jobs = other.collection::<Job>();
                let at_first = jobs.find(|j| j.host.eq(Ref::new(1))).count().await.unwrap();
                let counted = hosts.get(1).await.unwrap().unwrap().jobs;
                assert_eq!(counted as u64, at_first, "{name}");
                if !stopped {
                    break;
                }
                stops += 1;
            }
            assert!(stops > 1, "{kind}, {some}: {stops}");
        }
    });
}

/// On a standalone server: a child is moved, and meanwhile another client inserts it, or deletes it and inserts it again with
/// another parent. Wherever it is then, it is counted there and nowhere else after a repair.
#[odm_tests::test]
fn a_child_that_comes_or_comes_back_while_it_is_moved_is_counted_where_it_is() {
    odm_tests::takes_long();
    with_db(async |t| {
        let other = t.standalone_of(&odm(&t).await).await;
        let process = Process::new_in(true, &t).await;
        let first = handle(process.db.clone());
        first.server().await.unwrap();
        let job = |host: i32| NewJob {
            id: 7,
            host: Ref::new(host),
        };
        let kinds = [
            "update",
            "returning",
            "upsert",
            "replace",
            "update_where",
            "upsert where",
            "bulk",
            "bulk with more",
        ];
        for (kind, there) in kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
            let (mut stops, mut moved_on) = (0, 0);
            loop {
                emptied(&other).await;
                let hosts = other.collection::<Host>();
                for id in [1, 2, 3] {
                    hosts.insert(NewHost { id, ..host("a") }).await.unwrap();
                }
                let jobs = other.collection::<Job>();
                if there {
                    jobs.insert(job(1)).await.unwrap();
                }
                let (of_first, bulk) = (first.collection::<Job>(), first.bulk());
                let work = async move {
                    let to = Ref::new(2);
                    let update = || of_first.update(7).set(|j| j.host, to);
                    let update_where = || of_first.update_where(|j| j.id.lt(8)).set(|j| j.host, to);
                    match kind {
                        "update" => update().await.map(drop),
                        "returning" => update().returning().await.map(drop),
                        "upsert" => update().upsert().await.map(drop),
                        "replace" => {
                            let job = Job {
                                id: 7,
                                host: to,
                                host_name: String::new(),
                            };
                            of_first.replace(job).await.map(drop)
                        }
                        "update_where" => update_where().await.map(drop),
                        "bulk" => bulk.add(update()).await.map(drop),
                        "bulk with more" => {
                            let more = [8, 9].map(|id| NewJob {
                                id,
                                host: Ref::new(1),
                            });
                            let [eighth, ninth] = more;
                            let bulk = bulk.add(of_first.insert(eighth)).add(of_first.insert(ninth));
                            let bulk = bulk.add(update());
                            let bulk = bulk.add(of_first.update(8).set(|j| j.host, Ref::new(3)));
                            let second =
                                |j: <Job as odm::Document>::Paths| j.host.eq(Ref::new(3)) & j.id.gt(7);
                            let bulk = bulk.add(of_first.update_where(second).set(|j| j.host, to));
                            bulk.add(of_first.delete(9)).await.map(drop)
                        }
                        _ => {
                            let named = of_first.update_where(|j| j.id.eq(7));
                            named.set(|j| j.host, to).upsert().await.map(drop)
                        }
                    }
                };
                let (done, stopped) = match process.until(stops, work).await {
                    Ok(stopped) => {
                        if there {
                            jobs.delete(7).await.unwrap();
                        }
                        match jobs.insert(job(3)).await {
                            // Of an upsert that has inserted it already.
                            Ok(_) | Err(Error::DuplicateKey { .. }) => {}
                            Err(error) => panic!("{kind}: {error}"),
                        }
                        (stopped.go_on().await.unwrap(), true)
                    }
                    Err(done) => (done, false),
                };
                let name = format!("{kind}, there: {there}, before command {stops}");
                match done {
                    Ok(()) | Err(Error::NotFound { .. }) => {}
                    // Two insert it by the same id.
                    Err(Error::DuplicateKey { .. }) if kind == "upsert where" => {}
                    Err(error) => panic!("{name}: {error}"),
                }
                let repaired = other.repair_all().await.unwrap();
                assert!(repaired.left.is_clean(), "{name}: {repaired}");
                if kind == "bulk with more" {
                    // Inserted, moved and moved again, or deleted again.
                    let eighth = jobs.get(8).await.unwrap().expect("it was inserted");
                    assert_eq!(
                        (eighth.host, jobs.get(9).await.unwrap()),
                        (Ref::new(2), None),
                        "{name}"
                    );
                    jobs.delete(8).await.unwrap();
                }
                let mut counted = Vec::new();
                for id in [1, 2, 3] {
                    let at_host = jobs.find(|j| j.host.eq(Ref::new(id))).count().await.unwrap();
                    let host = hosts.get(id).await.unwrap().unwrap();
                    assert_eq!(host.jobs as u64, at_host, "{name}, host {id}");
                    counted.push(at_host);
                }
                moved_on += u64::from(stopped && counted == [0, 1, 0]);
                if !stopped {
                    break;
                }
                stops += 1;
            }
            // One that has come is moved where it was there in time.
            assert!(moved_on > 0, "{kind}, there: {there}: never in {stops} stops");
        }
    });
}

/// A lease that a bill holds back is put back without a transaction. One that began before changes what the lease copies, has
/// not seen it, and commits when it has been compared with its source.
#[odm_tests::test]
fn restoring_a_document_waits_for_open_transactions() {
    with_transactions(async |t| {
        let other = odm(&t).await;
        let process = Process::new(&t).await;
        let first = handle(process.db.clone());
        first.server().await.unwrap();
        let mut put_back = 0;
        for from in 0.. {
            let mut ended = false;
            for to in from + 1.. {
                emptied(&other).await;
                other.collection::<Host>().insert(host("old")).await.unwrap();
                refer(&other, "a lease").await;
                let leases = first.collection::<Lease>();
                let work = async move { leases.delete(7).await };
                let name = format!("commands {from} and {to}");
                let Ok(stopped) = process.until(from, work).await else {
                    ended = true;
                    break;
                };
                let bill = NewBill {
                    id: 7,
                    lease: Ref::new(7),
                };
                match other.collection::<Bill>().insert(bill).await {
                    Ok(_) | Err(Error::MissingReference { .. }) => {}
                    Err(error) => panic!("{name}: {error}"),
                }
                let Ok(stopped) = stopped.until(to).await else {
                    break;
                };
                let (written, is_written) = oneshot::channel();
                let (commit, commits) = oneshot::channel::<()>();
                let signals = Mutex::new(Some((written, commits)));
                let changing = other.clone();
                let change = tokio::spawn(async move {
                    changing
                        .transaction(async |tx| {
                            let hosts = tx.collection::<Host>();
                            hosts.update(1).set(|h| h.place, "elsewhere").await?;
                            // The second time if it has to begin again.
                            let signals = signals.lock().unwrap().take();
                            if let Some((written, commits)) = signals {
                                written.send(()).unwrap();
                                commits.await.unwrap();
                            }
                            Ok(())
                        })
                        .await
                });
                is_written.await.unwrap();
                let deletion = stopped.go_on();
                // It is done by then, or waits.
                tokio::time::sleep(Duration::from_millis(30)).await;
                commit.send(()).unwrap();
                change.await.unwrap().unwrap();
                match deletion.await.unwrap() {
                    Ok(_) => {}
                    Err(Error::StillReferenced { .. }) => put_back += 1,
                    Err(error) => panic!("{name}: {error}"),
                }
                // On a server that does not let a write wait for a transaction, the work is still pending.
                other.recover().await.unwrap();
                assert_clean_after(&other, &name).await;
            }
            if ended {
                break;
            }
        }
        assert!(put_back > 0, "no lease was put back");
    });
}

/// A delivery in batches meets a transaction that changes another field, and delivers that alone: the rest follows all the same.
#[odm_tests::test]
fn a_fan_out_continues_after_a_change_of_another_field() {
    odm_tests::takes_long();
    with_transactions(async |t| {
        const HOLDERS: i32 = 1_010;
        let other = odm(&t).await;
        let process = Process::new(&t).await;
        let first = handle(process.db.clone()).with_fan_out(FanOut::new().batch(250));
        first.server().await.unwrap();
        other.collection::<Host>().insert(host("old")).await.unwrap();
        refer(&other, "a lease").await;
        let message = |id| NewMessage {
            id,
            host: Some(Ref::new(1)),
        };
        let messages = other.collection::<Message>();
        messages.insert_many((0..HOLDERS).map(message)).await.unwrap();
        let mut overtaken = 0;
        for at in 0.. {
            let hosts = first.collection::<Host>();
            let work = async move { hosts.update(1).set(|h| h.name, format!("host {at}")).await };
            let stopped = match process.until(at, work).await {
                Ok(stopped) => stopped,
                Err(done) => {
                    done.unwrap();
                    break;
                }
            };
            // Documents that the first one's transaction has written can't be changed before its end. In a handle of its own: this one
            // has not met others at the host a moment ago.
            let hosts = handle(t.db.clone()).collection::<Host>();
            let place = format!("place {at}");
            let mut change = tokio::spawn(async move { hosts.update(1).set(|h| h.place, place).await });
            let in_time = tokio::time::timeout(Duration::from_millis(500), &mut change).await;
            if let Ok(changed) = &in_time {
                overtaken += 1;
                // The lease: no message copies the place.
                let changed = changed.as_ref().unwrap().as_ref().unwrap();
                assert_eq!(changed.copies_updated, 1, "command {at}");
            }
            stopped.go_on().await.unwrap().unwrap();
            if in_time.is_err() {
                change.await.unwrap().unwrap();
            }
            let name = format!("command {at}");
            assert_clean_after(&other, &name).await;
            assert_eq!(other.recover().await.unwrap().documents, 0, "{name}");
        }
        assert!(overtaken >= 6, "{overtaken} deliveries were overtaken");
    });
}
