//! Pays the debts that dead processes left.

use super::super::batch::{self, all, behind};
use super::super::graph::Graph;
use super::super::scope::Scope;
use super::each::Written;
use super::fill::needed;
use super::lease;
use super::orphans;
use super::pay::{owing, pay};
use super::place::is_one_of;
use super::{Token, at};
use crate::document::DocumentMeta;
use crate::own_fields::OPERATION;
use crate::trace::Trace;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use mongodb::error::{ErrorKind, RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR, WriteFailure};
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// So many documents with debts are paid for at a time.
const BATCH: usize = 200;

impl Graph {
    /// The documents that may owe something.
    pub(crate) fn debtors(&self) -> impl Iterator<Item = &'static DocumentMeta> {
        self.models().filter(|meta| self.takes_part(meta))
    }
}

impl Odm {
    /// Finishes what writes have begun whose process has died: copies that were not delivered any more, subsets and computed
    /// fields that were not derived again, documents that were to be deleted.
    ///
    /// A write leaves pending work in the documents that it writes, by the same atomic write, so nothing can be forgotten. Two
    /// writes are more than one statement on a standalone server, which has no transactions: of a link and of a child that is
    /// moved to another parent. An [`audit`](Odm::audit) finds what a crash between the statements leaves.
    /// It is safe to run this anywhere, at any time and by several processes at once, also while the writer is alive after
    /// all: every step can be done twice and in any order.
    ///
    /// # Errors
    /// The first of what the server says, and of what is derived but does not fit its field. A document that can't be paid for
    /// does not hold up the others: all that can be paid is paid before, and the rest is still owed. `tracing` names each.
    /// [`Error::UnknownCopies`](crate::Error::UnknownCopies) where
    /// documents owe something of which the database knows copies that these models lack: that is left to a program with all
    /// models, after everything else has been paid.
    ///
    /// # Cost
    /// One round trip for the declarations that the database knows, and one for each collection that holds copies or is copied
    /// from, on a sparse index of the documents with pending work; for these what their writers would have needed.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let recovered = odm.recover().await?;
    /// println!("{} documents owed something", recovered.documents);
    /// # Ok(()) }
    /// ```
    pub fn recover(&self) -> Recovering {
        Recovering {
            odm: self.clone(),
            by_worker: false,
        }
    }

    /// Runs [`recover`](Odm::recover), and [`delete_expired`](Odm::delete_expired) where documents expire, again and again in the background, in the tokio runtime that this is called in, and so that
    /// any number of processes may have a worker: what is owed by a process that seems to be alive, or is being paid by another
    /// worker, it leaves to these. A debt is left alone in its first ten seconds, and as long as a delivery to many has told
    /// in the last ten how far it has come; who takes over what a dead process owes has a lease of ten seconds, which its
    /// deliveries to many prolong. This is by
    /// the clocks of the processes: where they differ, work is done twice or later, and nothing goes wrong.
    /// (`recover` itself leaves nothing to others.)
    ///
    /// What fails is tried again the next time, and told to `tracing`. It ends with [`Worker::stop`], which does not wait for a
    /// delivery to its end, or when the worker is dropped.
    ///
    /// # Cost
    /// That of [`recover`](Odm::recover) and [`delete_expired`](Odm::delete_expired), and for each 200 documents that owe something the lease: one round trip, two if
    /// another worker has some of them.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let worker = odm.worker(std::time::Duration::from_secs(30));
    /// // … serve …
    /// worker.stop().await;
    /// # Ok(()) }
    /// ```
    pub fn worker(&self, every: Duration) -> Worker {
        let (odm, stop) = (self.clone(), Arc::new(Notify::new()));
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            loop {
                let recovering = Recovering {
                    odm: odm.clone(),
                    by_worker: true,
                };
                // Wherever a recovery is left, it is left as by a process that dies: the debt is still there, and who takes it over
                // can do every step once more.
                let recovered = tokio::select! {
                    () = stopped.notified() => return,
                    recovered = recovering.into_future() => recovered,
                };
                if let Err(error) = recovered {
                    tracing::warn!(target: "odm", %error, "applying pending work failed, will retry");
                }
                if odm.has_expiring() {
                    let deleted = tokio::select! {
                        () = stopped.notified() => return,
                        deleted = odm.delete_expired() => deleted,
                    };
                    if let Err(error) = deleted {
                        tracing::warn!(target: "odm", %error, "deleting expired documents failed, will retry");
                    }
                }
                tokio::select! {
                    () = stopped.notified() => return,
                    () = tokio::time::sleep(every) => {}
                }
            }
        });
        Worker {
            stop,
            task: Some(task),
        }
    }
}

/// A recovery, until `.await` carries it out: [`Odm::recover`].
#[must_use = "a recovery does nothing until it is awaited"]
#[derive(Clone, Debug)]
pub struct Recovering {
    odm: Odm,
    /// What others are at is left to them.
    by_worker: bool,
}

/// What a recovery found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// How many documents owed something.
    pub documents: u64,
    /// In how many documents copies were written for it.
    pub copies: u64,
    /// How long the oldest of them had owed it: for so long a copy may have been stale. By the time at which the write began,
    /// in seconds, of the clock of the process that made it. What is written meanwhile by living processes counts, too.
    pub oldest: Option<Duration>,
}

impl Recovered {
    /// Counts documents that owe something.
    fn found(&mut self, documents: &[RawDocumentBuf]) {
        self.documents += documents.len() as u64;
        let tokens = documents
            .iter()
            .filter_map(|document| at(document, OPERATION)?.as_object_id());
        let began = tokens.map(|token| token.timestamp().to_system_time());
        let now = SystemTime::now();
        let ages = began.map(|began| now.duration_since(began).unwrap_or_default());
        self.oldest = self.oldest.max(ages.max());
    }
}

impl IntoFuture for Recovering {
    type Output = Result<Recovered>;
    type IntoFuture = BoxFuture<'static, Result<Recovered>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Recovering { odm, by_worker } = self;
            let trace = Trace::new("(all)", "recover");
            let recovered = trace.run(async {
                let trips = AtomicU64::new(0);
                let scope = Scope::new(&odm, None, &trips);
                let mut recovered = Recovered::default();
                let mut unknown = Ok(());
                let mut failed = Ok(());
                scope.trip();
                let known = odm.learn().await?;
                for meta in odm.graph().debtors() {
                    if let Err(error) = odm.knows_copies(meta) {
                        // What these models don't know would be struck out unpaid.
                        let owes = scope.few(meta, owing(), doc! { "_id": 1 }, 1).await?;
                        if !owes.is_empty() {
                            unknown = unknown.and(Err(error));
                        }
                        continue;
                    }
                    let fields = needed(odm.graph(), meta);
                    let mut last: Option<Bson> = None;
                    loop {
                        let after = last.as_ref().map(|last| behind(meta, last)).unwrap_or_default();
                        let which = if by_worker { lease::free() } else { owing() };
                        let batch = scope
                            .batch(meta, all([which, after]), Some(fields.clone()), BATCH)
                            .await?;
                        last = batch.documents.last().map(batch::document_id);
                        let scope = match by_worker {
                            true => scope.leased(Token::new()),
                            false => scope,
                        };
                        let documents = lease::take(&scope, meta, batch.documents).await?;
                        recovered.found(&documents);
                        if !documents.is_empty() {
                            let mut paid = Written::default();
                            pay_each(&scope, meta, documents, &mut paid).await?;
                            recovered.copies += paid.documents;
                            failed = failed.and(paid.all().map(drop));
                        }
                        if !batch.more {
                            break;
                        }
                    }
                }
                match orphans::recover(&scope, &known, &mut recovered.copies).await {
                    Err(error @ Error::UnknownCopies { .. }) => unknown = unknown.and(Err(error)),
                    paid => failed = failed.and(but_for_the_deployment(paid)?),
                }
                if let Some(oldest) = recovered.oldest {
                    tracing::debug!(
                        target: "odm",
                        documents = recovered.documents,
                        oldest_s = oldest.as_secs(),
                        "applied pending work"
                    );
                }
                trace.done(trips.into_inner(), recovered.copies);
                failed.and(unknown).map(|()| recovered)
            });
            recovered.await
        }
        .boxed()
    }
}

/// Pays what these documents owe: together, and one by one where that fails. Counts the documents that are changed, and keeps
/// the first error.
///
/// # Errors
/// What would fail with all documents.
pub(super) async fn pay_each(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
    paid: &mut Written,
) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    let ids = batch::ids(&documents);
    match (
        but_for_the_deployment(pay(scope, meta, documents).await)?,
        ids.as_slice(),
    ) {
        (Ok(copies), _) => paid.documents += copies,
        (Err(error), [one]) => {
            tell(meta, one, &error);
            paid.refuse(error);
        }
        (Err(_), _) => {
            // Some may be paid for by now.
            let owing = all([doc! { "_id": { "$in": &ids } }, owing()]);
            for document in scope.every(meta, owing, needed(scope.odm.graph(), meta)).await? {
                let id = batch::document_id(&document);
                match but_for_the_deployment(pay(scope, meta, vec![document]).await)? {
                    Ok(copies) => paid.documents += copies,
                    Err(error) => {
                        tell(meta, &id, &error);
                        paid.refuse(error);
                    }
                }
            }
        }
    }
    Ok(())
}

fn tell(meta: &DocumentMeta, id: &Bson, error: &Error) {
    tracing::warn!(
        target: "odm",
        collection = meta.collection,
        %id,
        %error,
        "applying the pending work of a document failed; it stays pending"
    );
}

/// The server's answers that say nothing of a document: another one is the primary now, or it goes down, or is out of reach.
///
/// HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, PrimarySteppedDown, SocketException, LegacyNotPrimary,
/// NotWritablePrimary, InterruptedAtShutdown, InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary.
const OF_THE_SERVER: [i32; 12] = [6, 7, 89, 91, 189, 9001, 10058, 10107, 11600, 11602, 13435, 13436];

/// Those that pass without anybody's changing a document: a right is missing, which somebody may give; a cursor or an operation
/// was ended; something took too long, or was in the way; no room is left.
///
/// Unauthorized, AuthenticationFailed, LockTimeout, CursorNotFound, LockBusy, MaxTimeMSExpired, WriteConflict,
/// ReadConcernMajorityNotAvailableYet, NetworkInterfaceExceededTimeLimit, CursorKilled, ExceededTimeLimit,
/// TransactionExceededLifetimeLimitSeconds, Interrupted, OutOfDiskSpace.
const PASSING: [i32; 14] = [13, 18, 24, 43, 46, 50, 112, 134, 202, 237, 262, 290, 11601, 14031];

/// Whether what failed for a document may succeed as it is, though it may be worth going on with others.
pub(super) fn passes(error: &Error) -> bool {
    error
        .driver_error()
        .is_some_and(|error| is_one_of(error, &PASSING))
}

/// What failed for these documents, so that it is worth going on with others; as the outer error what would fail with all.
pub(in super::super) fn but_for_the_deployment<T>(result: Result<T>) -> Result<Result<T>> {
    let of_all = |error: &mongodb::error::Error| {
        let refused = match &*error.kind {
            ErrorKind::Command(command) => !OF_THE_SERVER.contains(&command.code),
            ErrorKind::Write(WriteFailure::WriteError(_)) | ErrorKind::BulkWrite(_) => true,
            _ => false,
        };
        let passes = [RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR];
        !refused || passes.iter().any(|label| error.contains_label(label))
    };
    match result {
        Err(error) if error.driver_error().is_some_and(of_all) => Err(error),
        other => Ok(other),
    }
}

/// A task that pays what dead processes owe: [`Odm::worker`].
#[must_use = "a worker ends when it is dropped"]
#[derive(Debug)]
pub struct Worker {
    stop: Arc<Notify>,
    task: Option<JoinHandle<()>>,
}

impl Worker {
    /// Ends it at once, also in the middle of a delivery to many. It begins no command any more; one that was on its way to the
    /// server may be carried out after this has returned.
    ///
    /// Nothing is lost: what it has not paid to the end is still owed in the database, with the place that a long delivery has
    /// come to, and the next worker or [`recover`](Odm::recover) goes on there. What this one was at, other workers leave alone
    /// until its lease has run out, in ten seconds and a [pause](crate::FanOut::pause) at most; `recover` does not wait for that.
    ///
    /// ```no_run
    /// # async fn example(worker: odm::upkeep::Worker) {
    /// worker.stop().await;
    /// # }
    /// ```
    pub async fn stop(mut self) {
        self.stop.notify_one();
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::warn!(target: "odm", %error, "the worker ended before it was stopped");
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
