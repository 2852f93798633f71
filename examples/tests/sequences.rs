//! The pictures of commands show what is sent: the same writes are run, and their commands compared with the drawn ones.

#[allow(dead_code)] // they are drawn by the tests of the diagrams
#[path = "diagrams/sequence.rs"]
mod sequence;
#[allow(dead_code)]
#[path = "diagrams/sequences.rs"]
mod sequences;

#[path = "diagrams/canvas.rs"]
#[allow(dead_code)]
mod canvas;

use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::{TestDb, require_no_cluster, with_transactions};
use sequences::{fan_out, insert, recovery};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}

#[derive(Document, Clone, Debug)]
#[document(collection = "hosts")]
struct Host {
    id: i32,
    ipaddr: String,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "logmsg")]
struct LogMsg {
    id: i32,
    #[reference]
    host: Ref<Host>,
    #[denormalize(from = host.ipaddr)]
    ipaddr: String,
}

/// The number of messages of one host: in batches of a thousand, a change of the host is a fan-out of three.
const HOLDERS: i32 = 2_500;
const BATCH: usize = 1_000;

fn message(id: i32) -> NewLogMsg {
    let host = Ref::new(1);
    NewLogMsg { id, host }
}

/// A database with a host and its messages.
async fn stored(t: &TestDb, messages: i32) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Host, LogMsg]).unwrap();
    odm.sync().await.unwrap();
    let ipaddr = "127.66.66.66".to_owned();
    odm.collection::<Host>()
        .insert(NewHost { id: 1, ipaddr })
        .await
        .unwrap();
    let new = (0..messages).map(message);
    odm.collection::<LogMsg>().insert_many(new).await.unwrap();
    t.commands.clear();
    odm
}

#[odm_tests::test]
fn an_insert_sends_what_is_drawn() {
    with_transactions(async |t| {
        let odm = stored(&t, 1).await;
        odm.collection::<LogMsg>().insert(message(-1)).await.unwrap();
        assert_eq!(t.commands.take(), insert().commands());
    });
}

#[odm_tests::test]
fn a_fan_out_sends_what_is_drawn() {
    with_transactions(async |t| {
        let odm = stored(&t, HOLDERS).await;
        require_no_cluster(&odm).await;
        let odm = odm.with_fan_out(FanOut::new().batch(BATCH));
        t.commands.clear();
        let done = odm
            .collection::<Host>()
            .update(1)
            .set(|h| h.ipaddr, "10.0.0.1")
            .await
            .unwrap();
        assert_eq!(done.copies_updated, HOLDERS as u64);
        assert_eq!(t.commands.take(), fan_out().commands());
    });
}

#[odm_tests::test]
fn a_recovery_sends_what_is_drawn() {
    with_transactions(async |t| {
        let odm = stored(&t, HOLDERS).await;
        require_no_cluster(&odm).await;
        // A process that dies behind its first batch: it waits there, and is never polled again.
        let begun = Arc::new(AtomicBool::new(false));
        let noted = begun.clone();
        let dying = odm.clone().with_fan_out(
            FanOut::new()
                .batch(BATCH)
                .pause(std::time::Duration::from_secs(600))
                .progress(move |_| noted.store(true, Ordering::SeqCst)),
        );
        let process = tokio::spawn(async move {
            let hosts = dying.collection::<Host>();
            hosts.update(1).set(|h| h.ipaddr, "10.0.0.1").await
        });
        while !begun.load(Ordering::SeqCst) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        // The last two: a batch, and the progress behind it.
        let mut sent = t.commands.take();
        while sent.len() < 7 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            sent.extend(t.commands.take());
        }
        process.abort();
        let mut sent = sent.split_off(5);
        let messages = odm.collection::<LogMsg>();
        let stale = messages.find(|m| m.ipaddr.ne("10.0.0.1")).count().await.unwrap();
        assert_eq!(stale, HOLDERS as u64 - BATCH as u64);

        t.commands.clear();
        let odm = odm.with_fan_out(FanOut::new().batch(BATCH));
        odm.recover().await.unwrap();
        sent.extend(t.commands.take());
        assert_eq!(sent, recovery().commands());
        assert!(odm.audit().await.unwrap().is_clean());
    });
}
