//! The commands of an insert with a copy, of a change of a source with many holders, and of a recovery after a crash during it. They
//! are those that a client reports: a test runs the same writes and compares.

use crate::sequence::Sequence;
use crate::sequence::Step::{Call, Close, Command, Dies, Note, Open, Reply};
use mongodb::bson::oid::ObjectId;
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use odm::prelude::*;
use odm::references::FanOut;
use odm_examples::program::Commands;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const APP: usize = 0;
const ODM: usize = 1;
const HOSTS: usize = 2;
const LOG: usize = 3;

const PARTICIPANTS: &[&str] = &["application", "odm", "hosts", "logmsg"];

pub fn all() -> [(&'static str, Sequence); 3] {
    [
        ("insert", insert()),
        ("fan_out", fan_out()),
        ("recovery", recovery()),
    ]
}

fn insert() -> Sequence {
    Sequence {
        title: "An insert with a copy, on a replica set",
        participants: PARTICIPANTS,
        steps: vec![
            Call(APP, ODM, "insert a message that refers to a host"),
            Command(ODM, HOSTS, "find the source"),
            Reply(HOSTS, ODM, "ipaddr, version 7"),
            Open("transaction"),
            Command(
                ODM,
                LOG,
                "insert the message with ipaddr, and version 7 beside it",
            ),
            Command(ODM, HOSTS, "update: lock the host that has version 7"),
            Note(HOSTS, "another version: the copy is taken again"),
            Command(ODM, LOG, "commitTransaction"),
            Close,
            Reply(ODM, APP, "the stored message"),
        ],
    }
}

fn fan_out() -> Sequence {
    Sequence {
        title: "A change of a source with more than 1,000 holders, on a replica set",
        participants: PARTICIPANTS,
        steps: vec![
            Call(APP, ODM, "update the ipaddr of a host"),
            Open("transaction"),
            Command(ODM, HOSTS, "findAndModify: ipaddr, version 8"),
            Command(ODM, LOG, "find the holders: more than 1,000"),
            Command(ODM, HOSTS, "update: store pending work"),
            Command(ODM, LOG, "commitTransaction"),
            Close,
            Note(HOSTS, "from here on, any process can finish the work"),
            Command(ODM, HOSTS, "find the pending work"),
            Command(
                ODM,
                LOG,
                "update the first batch, where the version is older than 8",
            ),
            Command(ODM, LOG, "update the second batch at the same time"),
            Command(ODM, LOG, "find the ids of the next holders"),
            Command(ODM, HOSTS, "update: store the progress"),
            Command(ODM, LOG, "update the next batch, and so on"),
            Command(ODM, HOSTS, "update: clear the pending work"),
            Reply(ODM, APP, "copies_updated"),
        ],
    }
}

fn recovery() -> Sequence {
    const DEAD: usize = 0;
    const WORKER: usize = 1;
    Sequence {
        title: "A crash during a fan-out, and the recovery by another process",
        participants: &["process 1", "process 2", "hosts", "logmsg"],
        steps: vec![
            Note(DEAD, "has committed version 8 with pending work"),
            Command(DEAD, LOG, "update the first batch of holders"),
            Command(DEAD, HOSTS, "update: store the progress"),
            Dies(DEAD, "the other holders are stale"),
            Note(WORKER, "recover, or a worker"),
            Command(WORKER, LOG, "find in _odm_edges: the declared copies"),
            Command(WORKER, HOSTS, "find pending work"),
            Reply(HOSTS, WORKER, "version 8, progress"),
            Command(WORKER, LOG, "find the ids of the holders behind the first batch"),
            Command(WORKER, LOG, "getMore of them"),
            Command(
                WORKER,
                LOG,
                "update the second batch, where the version is older than 8",
            ),
            Command(WORKER, LOG, "update the third batch"),
            Command(WORKER, HOSTS, "update: clear the pending work"),
            Command(WORKER, LOG, "find pending work of messages: none"),
            Note(WORKER, "every copy equals its source"),
        ],
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "hosts")]
struct Host {
    #[serde(rename = "_id")]
    id: i32,
    ipaddr: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "logmsg")]
struct LogMsg {
    #[serde(rename = "_id")]
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

/// A database with a host, and the commands that are sent to it from now on.
async fn stored(messages: i32) -> (Database, Odm, Commands) {
    let commands = Commands::default();
    let uri = match std::env::var("MONGODB_URI") {
        Ok(uri) if !uri.is_empty() => uri,
        _ => panic!("no MongoDB server: run `cargo xtask test`, or set MONGODB_URI"),
    };
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.command_event_handler = Some(commands.handler());
    let client = Client::with_options(options).unwrap();
    let db = client.database(&format!("odm_sequences_{}", ObjectId::new().to_hex()));
    let odm = Odm::new(db.clone(), models![Host, LogMsg]).unwrap();
    odm.sync().await.unwrap();
    let ipaddr = "127.66.66.66".to_owned();
    odm.collection::<Host>()
        .insert(NewHost { id: 1, ipaddr })
        .await
        .unwrap();
    let new = (0..messages).map(message);
    odm.collection::<LogMsg>().insert_many(new).await.unwrap();
    commands.take();
    (db, odm, commands)
}

async fn has_transactions(odm: &Odm, db: &Database) -> bool {
    if odm.server().await.unwrap().has_transactions() {
        return true;
    }
    println!("skipped: the pictures show a replica set");
    db.drop().await.unwrap();
    false
}

#[tokio::test]
async fn an_insert_sends_what_is_drawn() {
    let (db, odm, commands) = stored(1).await;
    if !has_transactions(&odm, &db).await {
        return;
    }
    commands.take();
    odm.collection::<LogMsg>().insert(message(-1)).await.unwrap();
    assert_eq!(commands.take(), insert().commands());
    db.drop().await.unwrap();
}

#[tokio::test]
async fn a_fan_out_sends_what_is_drawn() {
    let (db, odm, commands) = stored(HOLDERS).await;
    if !has_transactions(&odm, &db).await {
        return;
    }
    let odm = odm.with_fan_out(FanOut::new().batch(BATCH));
    commands.take();
    let done = odm
        .collection::<Host>()
        .update(1)
        .set(|h| h.ipaddr, "10.0.0.1")
        .await
        .unwrap();
    assert_eq!(done.copies_updated, HOLDERS as u64);
    assert_eq!(commands.take(), fan_out().commands());
    db.drop().await.unwrap();
}

#[tokio::test]
async fn a_recovery_sends_what_is_drawn() {
    let (db, odm, commands) = stored(HOLDERS).await;
    if !has_transactions(&odm, &db).await {
        return;
    }
    commands.take();
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
    let mut sent = commands.take();
    while sent.len() < 7 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        sent.extend(commands.take());
    }
    process.abort();
    let mut sent = sent.split_off(5);
    let messages = odm.collection::<LogMsg>();
    let stale = messages.find(|m| m.ipaddr.ne("10.0.0.1")).count().await.unwrap();
    assert_eq!(stale, HOLDERS as u64 - BATCH as u64);

    commands.take();
    let odm = odm.with_fan_out(FanOut::new().batch(BATCH));
    odm.recover().await.unwrap();
    sent.extend(commands.take());
    assert_eq!(sent, recovery().commands());
    assert!(odm.audit().await.unwrap().is_clean());
    db.drop().await.unwrap();
}
