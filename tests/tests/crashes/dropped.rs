//! The matrix of dropped futures: every public write, whose future is dropped at each of its commands.
//!
//! A write is begun again and again from the same documents, by a process whose connections go through a [proxy](proxy::Proxy).
//! Its future is dropped at its first command, at its second, and so on, until it comes to its end: each time before the server
//! has got the command, and once more while its reply is outstanding. The process lives on. Each time
//! - nothing is sent after the drop but the end of a transaction;
//! - each transaction that began is committed or aborted, and no lock is left;
//! - after `recover()`, and after `repair_all()` where a write is several (on a standalone server, a deletion that keeps documents), no
//!   work is pending and the audit is clean;
//! - a write that is one transaction or one command is done or undone as a whole;
//! - the next operation on the same documents meets no conflict.
//!
//! The writes are those of the fixture `operations`, which a test compares with the reference, outside of a transaction and in one
//! of the application, and on a standalone server; and those of the crash matrix. A run has the inserts of trees and a sample of the
//! other rows, each time another one (`ODM_DROPPED_SHARE`, which is printed, says which). `ODM_DROPPED=all` has all of them, `ODM_DROPPED=WORDS` those
//! with these words in their names.

use crate::matrix;
use futures::future::{BoxFuture, FutureExt, join_all};
use futures::{StreamExt, TryStreamExt, stream};
use odm::bson::{Bson, Document, doc};
use odm::mongodb::{Client, Database};
use odm::upkeep::Audit;
use odm::{Error, Model, Odm};
use odm_tests::fixtures::edges::{clean, through};
use odm_tests::fixtures::operations::{At, Kind, Mode, On, TENANTS, plain};
use odm_tests::proxy::{Moment, Proxy, Sent, server};
use odm_tests::{assert_clean_after, unique_name, with_db};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where the writes are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    ReplicaSet,
    /// Within a transaction of the application.
    Transaction,
    Standalone,
}

impl Where {
    const ALL: [Where; 3] = [Where::ReplicaSet, Where::Transaction, Where::Standalone];
}

/// A write, given a handle.
#[derive(Clone)]
pub(crate) struct Row {
    name: String,
    place: Where,
    run: Arc<dyn Fn(Odm) -> BoxFuture<'static, odm::Result<()>> + Send + Sync>,
}

/// Documents, and the writes that change them.
pub(crate) struct Group {
    pub(crate) models: fn() -> Vec<Model>,
    pub(crate) fill: fn(Odm) -> BoxFuture<'static, odm::Result<()>>,
    pub(crate) rows: Vec<Row>,
}

/// The results of all cuts.
#[derive(Clone, Debug, Default)]
struct Cuts {
    rows: usize,
    cuts: usize,
    /// Those that ended a transaction.
    of_transactions: usize,
    undone: usize,
    done: usize,
    parts: usize,
    /// Documents that could not be written after the drop.
    locks: usize,
    failures: Vec<String>,
}

impl Cuts {
    fn add(&mut self, other: Cuts) {
        self.rows += other.rows;
        self.cuts += other.cuts;
        self.of_transactions += other.of_transactions;
        self.undone += other.undone;
        self.done += other.done;
        self.parts += other.parts;
        self.locks += other.locks;
        self.failures.extend(other.failures);
    }
}

/// The documents of all collections, in a form that does not depend on when they were written.
pub(crate) type State = BTreeMap<String, Vec<String>>;

pub(crate) struct Place {
    pub(crate) db: Database,
    pub(crate) proxy: Proxy,
    /// By way of the proxy.
    pub(crate) odm: Odm,
    is_standalone: bool,
    /// The documents before each write, as they are stored.
    stored: BTreeMap<String, Vec<Document>>,
}

impl Place {
    pub(crate) async fn new(client: &Client, group: &Group, is_standalone: bool) -> Place {
        let db = client.database(&unique_name());
        let direct = Odm::new(db.clone(), (group.models)()).unwrap();
        direct.sync().await.unwrap();
        (group.fill)(direct.clone()).await.unwrap();
        assert_clean_after(&direct, "the beginning").await;
        let proxy = if is_standalone {
            Proxy::standalone(&server().await, 0).await
        } else {
            Proxy::start(&server().await, 0).await
        };
        let odm = Odm::new(through(&proxy, db.name()).await, (group.models)()).unwrap();
        odm.check_models().await.unwrap();
        proxy.arm();
        let mut place = Place {
            db,
            proxy,
            odm,
            is_standalone,
            stored: BTreeMap::new(),
        };
        place.stored = place.documents().await;
        place
    }

    /// All documents that the writes change, as they are stored.
    pub(crate) async fn documents(&self) -> BTreeMap<String, Vec<Document>> {
        let names = self.db.list_collection_names().await.unwrap();
        let names = names.into_iter().filter(|name| matrix::is_written(name));
        let each = names.map(async |name| {
            let found = self.db.collection::<Document>(&name).find(doc! {}).await.unwrap();
            let mut found: Vec<Document> = found.try_collect().await.unwrap();
            found.sort_by_key(|document| document.get("_id").map(ToString::to_string));
            (name, found)
        });
        join_all(each).await.into_iter().collect()
    }

    /// Makes the documents what they were before.
    pub(crate) async fn reset(&self) -> Result<(), String> {
        for (name, found) in self.documents().await {
            let stored = self.stored.get(&name).cloned().unwrap_or_default();
            if found == stored {
                continue;
            }
            let collection = self.db.collection::<Document>(&name);
            let failed = |error| format!("the documents can't be made what they were: {error}");
            let ids: Vec<&Bson> = stored.iter().filter_map(|document| document.get("_id")).collect();
            let others = doc! { "_id": { "$nin": &ids } };
            collection.delete_many(others).await.map_err(failed)?;
            for document in stored.iter().filter(|document| !found.contains(document)) {
                let is_it = |other: &&Document| other.get("_id") == document.get("_id");
                let now = found.iter().find(is_it).unwrap_or(document);
                let replaced = collection.replace_one(named(now), document);
                let replaced = replaced.upsert(true).bypass_document_validation(true);
                replaced.await.map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The documents after all pending work is done.
    pub(crate) async fn recovered(&self, after_cut: bool) -> Result<State, String> {
        let failed = |what: &'static str| move |error: Error| format!("{what}: {error}");
        self.odm.recover().await.map_err(failed("recover"))?;
        let mut audit = self.odm.audit().await.map_err(failed("audit"))?;
        // A deletion that keeps documents is several writes everywhere, a link and the move of a child on a standalone server.
        let is_interrupted = audit.references.iter().any(|edge| edge.interrupted.count > 0);
        if after_cut && (self.is_standalone || is_interrupted) {
            self.odm.repair_all().await.map_err(failed("repair"))?;
            audit = self.odm.audit().await.map_err(failed("audit"))?;
        }
        let is_right = audit.is_clean() || after_cut && self.is_undecided(&audit);
        if !is_right {
            return Err(format!("the audit says: {audit}"));
        }
        let documents = self.documents().await;
        for document in documents.values().flatten() {
            if document
                .get_document("_odm")
                .is_ok_and(|own| own.contains_key("pending"))
            {
                return Err(format!("pending for ever: {document}"));
            }
        }
        Ok(state(documents))
    }

    /// Whether one document names another one which a third one names: an audit finds the half of a link of which both sides were
    /// taken, and a repair leaves it to the application, as in the [crash matrix](matrix).
    fn is_undecided(&self, audit: &Audit) -> bool {
        let one_sided: u64 = audit.references.iter().map(|edge| edge.one_sided.count).sum();
        self.is_standalone && one_sided == 1 && audit.wrong() == 1
    }

    /// How many collections have a document that is locked.
    async fn locks(&self) -> usize {
        let names = self.stored.iter().filter(|(_, documents)| !documents.is_empty());
        let each = names.map(async |(name, _)| {
            for change in [
                doc! { "$set": { "touched": true } },
                doc! { "$unset": { "touched": true } },
            ] {
                let update = doc! {
                    "update": name,
                    "updates": [{ "q": {}, "u": change, "multi": true }],
                    "bypassDocumentValidation": true,
                    "maxTimeMS": 2_000,
                };
                let reply = self.db.run_command(update).await;
                if reply.is_err() || reply.is_ok_and(|reply| reply.contains_key("writeErrors")) {
                    return 1;
                }
            }
            0
        });
        join_all(each).await.into_iter().sum()
    }

    async fn row(&self, row: &Row) -> Cuts {
        let mut cuts = Cuts {
            rows: 1,
            ..Cuts::default()
        };
        if let Err(failure) = self.every_cut(row, &mut cuts).await {
            cuts.failures
                .push(format!("{} ({:?}): {failure}", row.name, row.place));
        }
        cuts
    }

    async fn every_cut(&self, row: &Row, cuts: &mut Cuts) -> Result<(), String> {
        self.reset().await?;
        let before = state(self.documents().await);
        self.proxy.take_commands();
        let told = (row.run)(self.odm.clone())
            .await
            .map_err(|error| error.to_string());
        let sent = self.proxy.take_commands();
        let after = self
            .recovered(false)
            .await
            .map_err(|error| format!("uncut: {error}"))?;
        let is_whole = row.place == Where::Transaction || is_tree(row) || units(&sent) <= 1;
        for moment in [Moment::BeforeSending, Moment::BeforeReply] {
            for at in 1.. {
                self.reset().await?;
                let now = self
                    .cut(row, (at, moment), &told, cuts)
                    .await
                    .map_err(|failure| format!("command {at}, {moment:?}: {failure}; uncut: {told:?}"))?;
                match now {
                    None => break,
                    Some(now) if now == before => cuts.undone += 1,
                    Some(now) if now == after => cuts.done += 1,
                    Some(now) if is_whole => {
                        let [before, after, now] =
                            [&before, &after, &now].map(|state| differences(state, &before));
                        return Err(format!(
                            "command {at}, {moment:?}: neither undone nor done\n before: {before:?}\n after: {after:?}\n now: {now:?}"
                        ));
                    }
                    Some(_) => cuts.parts += 1,
                }
            }
        }
        Ok(())
    }

    /// Drops the write at one command. Gives the documents after it, or nothing where the write ends before.
    async fn cut(
        &self,
        row: &Row,
        (at, moment): (usize, Moment),
        told: &Result<(), String>,
        cuts: &mut Cuts,
    ) -> Result<Option<State>, String> {
        self.proxy.take_commands();
        self.proxy.take_conflicts();
        self.proxy.hold(at, moment);
        let is_reached = tokio::select! {
            biased;
            () = self.proxy.reached() => true,
            _ = (row.run)(self.odm.clone()) => false,
            () = tokio::time::sleep(Duration::from_secs(20)) => return Err("hangs".to_owned()),
        };
        if !is_reached {
            self.proxy.release();
            return Ok(None);
        }
        // It is dropped. The reply is outstanding for a moment more, in which commands arrive that were sent beside it.
        let mut until_drop = 0;
        while until_drop != self.proxy.names().len() {
            until_drop = self.proxy.names().len();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.proxy.release();
        let begun = Instant::now();
        while !self.proxy.is_quiet() {
            if begun.elapsed() > Duration::from_secs(5) {
                let open = self.proxy.end_transactions().await;
                return Err(format!(
                    "{open} transactions stay open after {:?}",
                    self.proxy.names()
                ));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let sent = self.proxy.take_commands();
        cuts.cuts += 1;
        cuts.of_transactions += usize::from(sent.iter().any(|command| command.transaction.is_some()));
        ended(&sent)?;
        let late: Vec<&str> = sent
            .iter()
            .skip(until_drop)
            .map(|sent| sent.name.as_str())
            .collect();
        if late
            .iter()
            .any(|name| !["abortTransaction", "killCursors"].contains(name))
        {
            return Err(format!("sent after the drop: {late:?}"));
        }
        let locks = self.locks().await;
        cuts.locks += locks;
        if locks > 0 {
            return Err(format!("{locks} collections are locked"));
        }
        let now = self.recovered(true).await?;
        let next = tokio::time::timeout(Duration::from_secs(10), (row.run)(self.odm.clone())).await;
        match next {
            Err(_) => return Err("the next operation hangs".to_owned()),
            Ok(Err(error @ (Error::Contention { .. } | Error::Unavailable { .. } | Error::Driver(_))))
                if told.as_ref().err() != Some(&error.to_string()) =>
            {
                return Err(format!("the next operation: {error}"));
            }
            Ok(_) => {}
        }
        match self.proxy.take_conflicts() {
            0 => Ok(Some(now)),
            conflicts => Err(format!("{conflicts} conflicts after the drop")),
        }
    }
}

/// The condition of a document as it is now. A cluster takes a replacement that changes the shard key only where the whole previous key is
/// named, so the plain values beside the id are.
fn named(document: &Document) -> Document {
    let is_plain = |value: &Bson| {
        matches!(
            value,
            Bson::ObjectId(_) | Bson::String(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::Boolean(_)
        )
    };
    let fields = document.iter();
    let fields = fields.filter(|(name, value)| *name == "_id" || is_plain(value));
    fields
        .map(|(name, value)| (name.clone(), doc! { "$eq": value.clone() }.into()))
        .collect()
}

/// Whether each transaction among these commands is committed or aborted.
fn ended(sent: &[Sent]) -> Result<(), String> {
    let mut open = BTreeSet::new();
    for command in sent {
        let Some(transaction) = &command.transaction else {
            continue;
        };
        if matches!(command.name.as_str(), "commitTransaction" | "abortTransaction") {
            open.remove(transaction);
        } else {
            open.insert(transaction);
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        let names: Vec<&str> = sent.iter().map(|sent| sent.name.as_str()).collect();
        Err(format!("{} transactions have no end: {names:?}", open.len()))
    }
}

/// Whether the row inserts a document with those that refer to it.
fn is_tree(row: &Row) -> bool {
    ["insert with its children", "insert with children", "insert_tree"]
        .iter()
        .any(|name| row.name.ends_with(name))
}

/// How many transactions and single commands among these write.
fn units(sent: &[Sent]) -> usize {
    let writes = |sent: &&Sent| {
        ["insert", "update", "delete", "findAndModify", "bulkWrite"].contains(&sent.name.as_str())
    };
    let writes: Vec<&Sent> = sent.iter().filter(writes).collect();
    let transactions: BTreeSet<_> = writes
        .iter()
        .filter_map(|sent| sent.transaction.as_ref())
        .collect();
    transactions.len() + writes.iter().filter(|sent| sent.transaction.is_none()).count()
}

pub(crate) fn state(documents: BTreeMap<String, Vec<Document>>) -> State {
    let shown = |mut document: Document| {
        clean(&mut document);
        let mut value = Bson::Document(document);
        neutralize(&mut value);
        value.to_string()
    };
    let sorted = |documents: Vec<Document>| {
        let mut all: Vec<String> = documents.into_iter().map(shown).collect();
        all.sort_unstable();
        all
    };
    let all = documents.into_iter();
    let all = all.map(|(name, documents)| (name, sorted(documents)));
    // A write may make a collection.
    all.filter(|(_, documents)| !documents.is_empty()).collect()
}

/// Takes out what is another value each time.
fn neutralize(value: &mut Bson) {
    match value {
        Bson::ObjectId(_) => *value = Bson::String("an id".to_owned()),
        Bson::DateTime(_) => *value = Bson::String("a time".to_owned()),
        Bson::Document(document) => document.iter_mut().for_each(|(_, value)| neutralize(value)),
        Bson::Array(items) => items.iter_mut().for_each(neutralize),
        _ => {}
    }
}

/// The documents of a state that another one lacks.
pub(crate) fn differences<'s>(state: &'s State, other: &State) -> Vec<&'s String> {
    let others: BTreeSet<&String> = other.values().flatten().collect();
    state
        .values()
        .flatten()
        .filter(|document| !others.contains(document))
        .collect()
}

/// All public writes, of the fixture and of the crash matrix.
fn groups() -> Vec<Group> {
    let at = At {
        own: TENANTS[0],
        target: TENANTS[0],
    };
    let operations = (plain::SET.operations)().into_iter().map(Arc::new);
    let mut rows = Vec::new();
    let writes = operations.filter(|operation| operation.kind != Kind::Read);
    for (n, operation) in writes.enumerate() {
        for place in Where::ALL {
            if place == Where::Transaction && operation.mode == Mode::Outside {
                continue;
            }
            // One operator is sent as the other: those but `set` are tried in one place each.
            let of_operator = operation
                .methods
                .iter()
                .filter(|method| method.starts_with("Change::"));
            if of_operator.clone().any(|method| *method != "Change::set") && place != Where::ALL[n % 3] {
                continue;
            }
            let of_row = operation.clone();
            rows.push(Row {
                name: operation.name.clone(),
                place,
                run: Arc::new(move |odm| {
                    let operation = of_row.clone();
                    async move {
                        let odm = (plain::SET.scoped)(&odm, at.own);
                        if place != Where::Transaction {
                            return operation.run(On::Database(odm), at).await.map(drop);
                        }
                        let within = async |tx| {
                            operation
                                .run(On::Transaction(odm.clone(), tx), at)
                                .await
                                .map(drop)
                        };
                        odm.transaction(within).await
                    }
                    .boxed()
                }),
            });
        }
    }
    let mut groups = vec![Group {
        models: plain::SET.models,
        fill: |odm| {
            async move {
                (plain::SET.fill)(odm, TENANTS[0]).await;
                Ok(())
            }
            .boxed()
        },
        rows,
    }];
    groups.extend(matrix::edges().into_iter().map(|edge| {
        let rows = edge.rows.iter().flat_map(|row| {
            [Where::ReplicaSet, Where::Standalone].map(|place| {
                let run = row.run;
                Row {
                    name: format!("{}: {}", edge.name, row.write),
                    place,
                    run: Arc::new(run),
                }
            })
        });
        Group {
            models: edge.models,
            fill: edge.setup,
            rows: rows.collect(),
        }
    }));
    groups
}

/// How many places are tried at once, each with a database of its own.
const AT_ONCE: usize = 4;

/// A run has one of this number of rows.
const SHARES: usize = 240;

#[odm_tests::test]
fn a_dropped_future_leaves_no_transaction_open_and_no_half_of_a_write() {
    with_db(async |t| {
        let started = Instant::now();
        let only = std::env::var("ODM_DROPPED").ok();
        let share = std::env::var("ODM_DROPPED_SHARE").ok();
        let share = share.and_then(|share| share.parse().ok());
        let share = share.unwrap_or(std::process::id() as usize) % SHARES;
        println!("ODM_DROPPED_SHARE={share}");
        let client = t.db.client().clone();
        let has_transactions = Odm::new(t.db.clone(), [])
            .unwrap()
            .server()
            .await
            .unwrap()
            .has_transactions();
        let mut number = 0;
        let mut work: Vec<(usize, bool, Vec<Row>)> = Vec::new();
        let groups: Arc<[Group]> = groups().into();
        for (group, rows) in groups.iter().map(|group| &group.rows).enumerate() {
            let mut chosen: Vec<Row> = Vec::new();
            for row in rows {
                number += 1;
                let is_chosen = match only.as_deref() {
                    None => number % SHARES == share || is_tree(row),
                    Some("all") => true,
                    Some(words) => row.name.contains(words),
                };
                if is_chosen && (has_transactions || row.place == Where::Standalone) {
                    chosen.push(row.clone());
                }
            }
            for is_standalone in [false, true] {
                let of_place: Vec<Row> = chosen
                    .iter()
                    .filter(|row| (row.place == Where::Standalone) == is_standalone)
                    .cloned()
                    .collect();
                work.extend(
                    of_place
                        .chunks(40)
                        .map(|rows| (group, is_standalone, rows.to_vec())),
                );
            }
        }
        let done = stream::iter(work).map(|(group, is_standalone, rows)| {
            let (client, groups) = (client.clone(), groups.clone());
            tokio::spawn(async move {
                let place = Place::new(&client, &groups[group], is_standalone).await;
                let mut cuts = Cuts::default();
                for row in &rows {
                    cuts.add(place.row(row).await);
                }
                place.db.drop().await.unwrap();
                cuts
            })
        });
        let mut cuts = Cuts::default();
        let mut done = done.buffer_unordered(AT_ONCE);
        while let Some(one) = done.next().await {
            cuts.add(one.unwrap());
        }
        println!(
            "{} of {number} rows, {} cuts ({} in transactions): {} undone, {} done, {} parts; {} locks left; {:.0?}",
            cuts.rows,
            cuts.cuts,
            cuts.of_transactions,
            cuts.undone,
            cuts.done,
            cuts.parts,
            cuts.locks,
            started.elapsed()
        );
        for failure in &cuts.failures {
            println!("{failure}");
        }
        assert!(cuts.failures.is_empty(), "{} rows failed", cuts.failures.len());
        assert_eq!(cuts.locks, 0);
    });
}
