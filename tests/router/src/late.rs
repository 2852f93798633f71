//! A shard that applies the commits of transactions in two phases late: their replies come before, and plain reads of the shard miss
//! what they wrote.
//!
//! The backing server commits for all shards at once. The state of the late shard before the commit is that of a transaction which
//! only reads, begun before the commit; it ends when the shard has applied it.

use crate::catalog::SHARDS;
use crate::reply::{count, documents, is_ok};
use crate::transaction::lock;
use crate::wire::Backing;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, Timestamp, doc, oid::ObjectId};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// A session of the router's own.
pub(crate) fn session() -> Document {
    let id = ObjectId::new().bytes();
    // The first half tells sessions apart: the random number of the process, and a counter.
    let bytes = [&id[4..], &id[..4], &ObjectId::new().bytes()[8..]].concat();
    doc! { "id": Binary { subtype: BinarySubtype::Uuid, bytes } }
}

/// A late shard: its state before a commit.
#[derive(Debug)]
pub(crate) struct Window {
    backing: tokio::sync::Mutex<Backing>,
    session: Document,
    /// The time of the commit.
    committed: Mutex<Timestamp>,
    is_applied: watch::Sender<bool>,
}

impl Window {
    /// Keeps the state of now.
    pub(crate) async fn open(server: &str) -> io::Result<Window> {
        let mut backing = Backing::connect(server).await?;
        let session = session();
        let first = doc! {
            "find": "odm_router_late", "limit": 1, "lsid": session.clone(), "txnNumber": 1_i64, "autocommit": false,
            "startTransaction": true, "readConcern": { "level": "snapshot" },
        };
        backing.run("admin", first.clone()).await?;
        Ok(Window {
            backing: backing.into(),
            session,
            committed: Mutex::new(Timestamp {
                time: 0,
                increment: 0,
            }),
            is_applied: watch::Sender::new(false),
        })
    }

    /// Ends the state.
    pub(crate) async fn close(&self) {
        let mut backing = self.backing.lock().await;
        self.is_applied.send_replace(true);
        let abort = self.statement(doc! { "abortTransaction": 1 });
        // Without the connection, the transaction ends by itself.
        let _ = backing.run("admin", abort).await;
    }

    /// Whether the shard has applied the commit.
    pub(crate) fn has_applied(&self) -> bool {
        *self.is_applied.borrow()
    }

    /// Waits until the shard has applied the commit.
    pub(crate) async fn applied(&self) {
        // The sender lives as long as this does.
        let _ = self
            .is_applied
            .subscribe()
            .wait_for(|is_applied| *is_applied)
            .await;
    }

    /// A command of the transaction that keeps the state.
    fn statement(&self, mut command: Document) -> Document {
        command.insert("lsid", self.session.clone());
        command.insert("txnNumber", 1_i64);
        command.insert("autocommit", false);
        command
    }

    /// Reads in the state before the commit, all that there is; `None` where the shard has applied it, or the state has no answer.
    pub(crate) async fn read(&self, database: &str, command: &Document) -> io::Result<Option<Document>> {
        let mut backing = self.backing.lock().await;
        if *self.is_applied.borrow() {
            return Ok(None);
        }
        let is_count = command.contains_key("count");
        let command = if is_count {
            counted(command)
        } else {
            plain(command)
        };
        let mut reply = backing.run(database, self.statement(command.clone())).await?;
        if !is_ok(&reply) {
            return Ok(None);
        }
        if let Ok(mut cursor) = reply.get_document("cursor").cloned() {
            let mut all = documents(&cursor, "firstBatch");
            let collection = command.values().next().and_then(Bson::as_str).unwrap_or_default();
            while count(&cursor, "id") != 0 {
                let more = doc! { "getMore": count(&cursor, "id"), "collection": collection };
                let more = backing.run(database, self.statement(more)).await?;
                let Ok(next) = more.get_document("cursor") else {
                    return Ok(None);
                };
                cursor = next.clone();
                all.extend(documents(&cursor, "nextBatch"));
            }
            if is_count {
                let n = all.first().map_or(0, |counted| count(counted, "n"));
                return Ok(Some(doc! { "n": n as i32, "ok": 1.0 }));
            }
            let namespace = cursor.get_str("ns").unwrap_or_default();
            reply.insert("cursor", doc! { "firstBatch": all, "id": 0_i64, "ns": namespace });
        }
        Ok(Some(reply))
    }
}

/// A read without what a transaction refuses, and without batches.
fn plain(command: &Document) -> Document {
    let mut command = command.clone();
    for name in [
        "readConcern",
        "batchSize",
        "singleBatch",
        "lsid",
        "txnNumber",
        "writeConcern",
    ] {
        command.remove(name);
    }
    if command.contains_key("aggregate") {
        command.insert("cursor", doc! {});
    }
    command
}

/// A count as a pipeline, which a transaction takes.
fn counted(command: &Document) -> Document {
    let mut stages = vec![doc! { "$match": command.get_document("query").cloned().unwrap_or_default() }];
    for (name, stage) in [("skip", "$skip"), ("limit", "$limit")] {
        let n = count(command, name).abs();
        if n > 0 {
            stages.push(doc! { stage: n });
        }
    }
    stages.push(doc! { "$count": "n" });
    let collection = command.get_str("count").unwrap_or_default();
    let mut pipeline = doc! { "aggregate": collection, "pipeline": stages, "cursor": {} };
    for name in ["hint", "collation", "maxTimeMS"] {
        pipeline.extend(command.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    pipeline
}

/// Which shards are late, and their states.
#[derive(Debug, Default)]
pub(crate) struct Late {
    delays: Mutex<[Option<Duration>; SHARDS.len()]>,
    windows: Mutex<[Option<Arc<Window>>; SHARDS.len()]>,
}

impl Late {
    pub(crate) fn set(&self, shard: usize, delay: Option<Duration>) {
        lock(&self.delays)[shard] = delay;
    }

    pub(crate) fn delay(&self, shard: usize) -> Option<Duration> {
        lock(&self.delays)[shard]
    }

    pub(crate) fn current(&self, shard: usize) -> Option<Arc<Window>> {
        lock(&self.windows)[shard].clone()
    }

    /// Shows the state before a commit for as long as the shard is late.
    pub(crate) fn show(
        self: &Arc<Late>,
        shard: usize,
        window: Window,
        committed: Option<Timestamp>,
        delay: Duration,
    ) {
        if let Some(committed) = committed {
            *lock(&window.committed) = committed;
        }
        let window = Arc::new(window);
        lock(&self.windows)[shard] = Some(window.clone());
        let late = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            lock(&late.windows)[shard].take_if(|shown| Arc::ptr_eq(shown, &window));
            window.close().await;
        });
    }

    /// The state that a read of a shard sees, if the shard is late: a read after the time of the commit waits, and so does one that
    /// has to see every commit.
    pub(crate) async fn seen(
        &self,
        shard: usize,
        after: Option<Timestamp>,
        level: Option<&str>,
    ) -> Option<Arc<Window>> {
        let window = self.current(shard)?;
        let committed = *lock(&window.committed);
        let is_after = |at: Timestamp| (at.time, at.increment) >= (committed.time, committed.increment);
        if after.is_some_and(is_after) || matches!(level, Some("snapshot" | "linearizable")) {
            window.applied().await;
            return None;
        }
        Some(window)
    }

    /// Waits until a shard has applied every commit, as a write of the same documents does.
    pub(crate) async fn applied(&self, shard: usize) {
        while let Some(window) = self.current(shard) {
            window.applied().await;
            // The task that closes the state has removed it before.
            tokio::task::yield_now().await;
        }
    }
}
