//! Workers that leave pending work to the process that applies it already.

use crate::copying::eventual::{Author, Book, book, models, stocked};
use crate::copying::{mortal, raw, watched, with_pending_work};
use odm::bson::{DateTime, Document as Doc, doc, oid::ObjectId};
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::{TestDb, assert_clean, with_db};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

const HOUR: Duration = Duration::from_secs(3600);

/// The token of pending work that was recorded at this time.
fn token(made: SystemTime) -> ObjectId {
    let since = made.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut bytes = ObjectId::new().bytes();
    bytes[..4].copy_from_slice(&u32::try_from(since.as_secs()).unwrap().to_be_bytes());
    ObjectId::from_bytes(bytes)
}

/// As if the first author's pending work had been recorded at this time, and a lease of it had this end.
async fn set(odm: &Odm, made: SystemTime, lease: Option<SystemTime>) {
    let mut set = doc! { "_odm.pending.operation": token(made) };
    if let Some(until) = lease {
        set.insert("_odm.pending.lease.until", DateTime::from_system_time(until));
    }
    let pending = doc! { "_odm.pending.operation": { "$exists": true } };
    // The pending work of the books is as old.
    for (name, set) in [
        ("books", doc! { "_odm.pending.operation": token(made) }),
        ("authors", set),
    ] {
        let all = odm.database().collection::<Doc>(name);
        let done = all
            .update_many(pending.clone(), doc! { "$set": set })
            .await
            .unwrap();
        assert!(
            name == "books" || done.matched_count == 1,
            "the author has pending work"
        );
    }
}

/// A process renames the first author, and is killed after this number of further commands.
async fn left_by_a_dead_process(t: &TestDb, name: &str, commands: usize, batch: usize) {
    let mut dead = mortal(t, models()).await;
    dead.odm = dead
        .odm
        .with_fan_out(FanOut::new().batch(batch).pause(Duration::from_millis(1)));
    let name = name.to_owned();
    let died = dead.dies_after(1 + commands, async move |odm| {
        let authors = odm.collection::<Author>();
        authors.update(1).set(|a| a.name, name).await.unwrap();
    });
    assert!(died.await, "it was done before it died");
}

/// Waits until no work is pending.
async fn is_drained(odm: &Odm) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if with_pending_work(odm).await.is_empty() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[odm_tests::test]
fn a_worker_skips_pending_work_that_another_worker_has_leased() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let now = SystemTime::now();
        for (what, made, lease, applies) in [
            ("the writer may be alive", now, None, false),
            ("no other worker has it", now - HOUR, None, true),
            ("another worker has it", now - HOUR, Some(now + HOUR), false),
            ("another worker had it", now - HOUR, Some(now - HOUR), true),
            ("made by a clock that runs ahead", now + 24 * HOUR, None, true),
        ] {
            left_by_a_dead_process(&t, what, 0, 10).await;
            set(&odm, made, lease).await;
            t.commands.clear();
            let worker = odm.worker(Duration::from_millis(5));
            if applies {
                assert!(is_drained(&odm).await, "{what}");
                worker.stop().await;
            } else {
                // Each round asks all collections.
                let mut sent = Vec::new();
                let end = Instant::now() + Duration::from_secs(20);
                while sent.len() < 50 && Instant::now() < end {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    sent.extend(t.commands.take());
                }
                worker.stop().await;
                assert!(sent.len() >= 50, "{what}: {sent:?}");
                assert!(!sent.iter().any(|name| name == "update"), "{what}: {sent:?}");
                assert_eq!(with_pending_work(&odm).await.len(), 1, "{what}");
                // An explicit `recover` applies it.
                assert_eq!(odm.recover().await.unwrap().documents, 1, "{what}");
            }
            assert!(with_pending_work(&odm).await.is_empty(), "{what}");
            let author = raw(&odm, "authors", 1).await;
            let own = author.get_document("_odm").unwrap();
            assert!(!own.contains_key("pending"), "{what}: {own}");
            assert_clean(&odm).await;
        }
    });
}

/// A handle of another process, and how many commands it has sent that change books.
async fn counted(t: &TestDb) -> (Odm, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let odm = watched(t, models(), move |event| {
        if let CommandEvent::Started(started) = event
            && started.command_name == "update"
            && started.command.get_str("update").is_ok_and(|of| of == "books")
        {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let gentle = FanOut::new().batch(5).pause(Duration::from_millis(20));
    (odm.await.with_fan_out(gentle), count)
}

#[odm_tests::test]
fn one_of_several_workers_applies_pending_work() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = (10..100).map(|id| book(id, 1));
        odm.collection::<Book>().insert_many(books).await.unwrap();
        let mut counts = Vec::new();
        for workers in [1, 6] {
            left_by_a_dead_process(&t, &format!("new {workers}"), 0, 10).await;
            set(&odm, SystemTime::now() - HOUR, None).await;
            let mut running = Vec::new();
            for _ in 0..workers {
                let (odm, count) = counted(&t).await;
                running.push((odm.worker(Duration::from_millis(5)), count));
            }
            assert!(is_drained(&odm).await);
            let mut sent = 0;
            for (worker, count) in running {
                worker.stop().await;
                sent += count.load(Ordering::Relaxed);
            }
            counts.push(sent);
            assert_clean(&odm).await;
        }
        assert!(counts[0] >= 95 / 5, "{counts:?}");
        assert_eq!(counts[0], counts[1], "commands of one worker, and of six");
    });
}

#[odm_tests::test]
fn a_worker_waits_while_the_lease_of_a_fan_out_is_current() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = (10..50).map(|id| book(id, 1));
        odm.collection::<Book>().insert_many(books).await.unwrap();
        left_by_a_dead_process(&t, "new", 8, 5).await;
        let until = |author: &Doc| {
            let lease = author
                .get_document("_odm")
                .unwrap()
                .get_document("pending")
                .unwrap()
                .get_document("lease")
                .unwrap();
            lease.get_datetime("until").unwrap().to_system_time()
        };
        let author = raw(&odm, "authors", 1).await;
        assert!(until(&author) > SystemTime::now(), "{author}");
        // The pending work is old by now, and the progress of the delivery is not.
        set(&odm, SystemTime::now() - HOUR, None).await;
        let worker = odm.worker(Duration::from_millis(5));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let author = raw(&odm, "authors", 1).await;
        assert!(
            author.get_document("_odm").unwrap().contains_key("pending"),
            "{author}"
        );
        set(&odm, SystemTime::now() - HOUR, Some(SystemTime::now() - HOUR)).await;
        assert!(is_drained(&odm).await);
        worker.stop().await;
        assert_clean(&odm).await;
    });
}

/// A worker does not deliver to all holders before it ends, and what it has come to is not lost.
#[odm_tests::test]
fn a_worker_is_stopped_in_the_middle_of_a_delivery() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = (10..110).map(|id| book(id, 1));
        odm.collection::<Book>().insert_many(books).await.unwrap();
        left_by_a_dead_process(&t, "new", 0, 10).await;
        set(&odm, SystemTime::now() - HOUR, None).await;
        let told = async || {
            let new = doc! { "author_name": "new" };
            t.db.collection::<Doc>("books")
                .count_documents(new)
                .await
                .unwrap()
        };
        // With these pauses it would take seven minutes.
        let slow = FanOut::new().batch(5).pause(Duration::from_secs(20));
        let worker = odm.clone().with_fan_out(slow).worker(HOUR);
        let end = Instant::now() + Duration::from_secs(20);
        while told().await == 0 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let before = Instant::now();
        worker.stop().await;
        let waited = before.elapsed();
        assert!(waited < Duration::from_secs(5), "{waited:?}");
        let some = told().await;
        assert!((1..100).contains(&some), "{some}");
        assert!(!with_pending_work(&odm).await.is_empty(), "the rest is pending");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(told().await, some, "it has ended");
        // The next recovery continues where it stopped.
        let (next, count) = counted(&t).await;
        next.recover().await.unwrap();
        let most = (105 - some).div_ceil(5) as usize;
        let sent = count.load(Ordering::Relaxed);
        assert!(sent <= most + 5, "{sent} commands for {most} batches");
        assert!(with_pending_work(&odm).await.is_empty());
        assert_clean(&odm).await;
    });
}
