//! Applies the pending work that ended processes left.

use crate::engine::write::drain::apply_each;
use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::{OPERATION, Token};
use crate::rules::pending::has_pending_work;
use crate::rules::{lease, needed};
use crate::store::batch;
use crate::store::batch::after_id;
use crate::store::cx::Cx;
use crate::store::each::{WriteReport, but_for_the_deployment};
use crate::store::fields::at;
use crate::store::filter::all;
use crate::store::trace::Trace;
use crate::upkeep::orphans;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Number of documents with pending work that are handled at a time.
const BATCH: usize = 200;

impl Graph {
    /// The documents that may have pending work.
    pub(crate) fn with_pending_work(&self) -> impl Iterator<Item = &'static DocumentMeta> {
        self.models().filter(|meta| self.takes_part(meta))
    }
}

impl Odm {
    /// Completes the writes of processes that ended before they could: updates copies, subsets and computed fields, and
    /// continues deletions.
    ///
    /// A write records its pending work in the documents that it writes, in the same atomic write, so none can get lost. On a
    /// standalone server, which has no transactions, two kinds of writes take more than one statement: a write of a link, and a
    /// move of a child to another parent. An [`audit`](Odm::audit) finds what a crash between the statements leaves. It is safe
    /// to run this anywhere, at any time and by several processes at once, also while the writer is alive after all: every step
    /// can be done twice and in any order.
    ///
    /// # Errors
    /// The first error of the server, or of a computed value outside of its field's range. A document whose pending work can't
    /// be applied does not stop the others: everything else is applied first, and the rest stays pending; each such document is
    /// logged. [`Error::UnknownCopies`](crate::Error::UnknownCopies) where the pending work concerns copies that these models
    /// lack: it is left to a program with all models, after everything else has been applied.
    ///
    /// # Cost
    /// One round trip for the declarations in the database, and one for each collection that holds copies or is copied from, on
    /// a sparse index of the documents with pending work; for these, the cost that their writers would have had.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let recovered = odm.recover().await?;
    /// println!("{} documents had pending work", recovered.documents);
    /// # Ok(()) }
    /// ```
    pub fn recover(&self) -> Recovering {
        Recovering {
            odm: self.unscoped(),
            by_worker: false,
        }
    }

    /// Runs [`recover`](Odm::recover), and [`delete_expired`](Odm::delete_expired) where documents expire, periodically in the
    /// background, in the tokio runtime that this is called in. Any number of processes may have a worker: each leaves the
    /// pending work of a process that seems to be alive, or that another worker is applying, to that process. A worker does not
    /// touch pending work in its first ten seconds, nor while a fan-out has stored its progress within the last ten; a worker
    /// that takes over the pending work of an ended process has a lease of ten seconds, which its fan-outs prolong. The clocks
    /// of the processes decide this: where they differ, work is done twice or later, without harm. (`recover` itself applies
    /// all pending work.)
    ///
    /// Failures are logged, and retried in the next round. The worker ends with [`Worker::stop`], which does not wait for a
    /// fan-out to complete, with [`shutdown`](Odm::shutdown), or when it is dropped.
    ///
    /// # Cost
    /// That of [`recover`](Odm::recover) and [`delete_expired`](Odm::delete_expired), and for each 200 documents with pending
    /// work the lease: one round trip, two if another worker has some of them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let worker = odm.worker(std::time::Duration::from_secs(30));
    /// // … serve …
    /// worker.stop().await;
    /// # Ok(()) }
    /// ```
    pub fn worker(&self, every: Duration) -> Worker {
        let (odm, stop) = (self.unscoped(), Arc::new(Notify::new()));
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            // A recovery that is stopped anywhere is like one of a process that ends: the work is still pending, and another
            // process can repeat every step.
            tokio::select! {
                () = stopped.notified() => {}
                () = odm.tasks().are_shut_down() => {}
                () = work(&odm, every) => {}
            }
        });
        Worker {
            stop,
            task: Some(task),
        }
    }
}

async fn work(odm: &Odm, every: Duration) {
    loop {
        let recovering = Recovering {
            odm: odm.clone(),
            by_worker: true,
        };
        if let Err(error) = recovering.await {
            tracing::warn!(target: "odm", %error, "applying pending work failed, will retry");
        }
        if odm.has_expiring()
            && let Err(error) = odm.delete_expired().await
        {
            tracing::warn!(target: "odm", %error, "deleting expired documents failed, will retry");
        }
        tokio::time::sleep(every).await;
    }
}

/// A recovery, executed by `.await`: [`Odm::recover`].
#[must_use = "a recovery does nothing until it is awaited"]
#[derive(Clone, Debug)]
pub struct Recovering {
    odm: Odm,
    /// Whether pending work that another process seems to be applying is left to it.
    by_worker: bool,
}

/// The result of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The number of documents that had pending work.
    pub documents: u64,
    /// The number of documents in which copies were updated.
    pub copies: u64,
    /// The age of the oldest pending work: a copy may have been stale for this long. It is measured from the beginning of the
    /// write, in whole seconds, by the clock of the process that made it. Writes of running processes that are not complete yet
    /// count, too.
    pub oldest: Option<Duration>,
}

impl Recovered {
    /// Counts documents with pending work.
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
            let trace = Trace::new("(all)", "recover").concealing(odm.graph().sensitive());
            let recovered = trace.run(async {
                let cx = Cx::new(&odm, None, &trace);
                let mut recovered = Recovered::default();
                let mut unknown = Ok(());
                let mut failed = Ok(());
                cx.trip();
                let known = odm.learn().await?;
                for meta in odm.graph().with_pending_work() {
                    if let Err(error) = odm.knows_copies(meta) {
                        // Work that these models don't know would be cleared without being applied.
                        let pending = cx.few(meta, has_pending_work(), doc! { "_id": 1 }, 1).await?;
                        if !pending.is_empty() {
                            unknown = unknown.and(Err(error));
                        }
                        continue;
                    }
                    let fields = needed(odm.graph(), meta);
                    let mut last: Option<Bson> = None;
                    loop {
                        let after = last.as_ref().map(|last| after_id(meta, last)).unwrap_or_default();
                        let which = if by_worker {
                            lease::free()
                        } else {
                            has_pending_work()
                        };
                        let batch = cx
                            .batch(meta, all([which, after]), Some(fields.clone()), BATCH)
                            .await?;
                        last = batch.documents.last().map(batch::document_id);
                        let cx = if by_worker { cx.leased(Token::new()) } else { cx };
                        let documents = lease::take(&cx, meta, batch.documents, &fields).await?;
                        recovered.found(&documents);
                        if !documents.is_empty() {
                            let mut applied = WriteReport::default();
                            apply_each(&cx, meta, documents, &mut applied).await?;
                            recovered.copies += applied.documents;
                            failed = failed.and(applied.all().map(drop));
                        }
                        if !batch.more {
                            break;
                        }
                    }
                }
                match orphans::recover(&cx, &known, &mut recovered.copies).await {
                    Err(error @ Error::UnknownCopies { .. }) => unknown = unknown.and(Err(error)),
                    applied => failed = failed.and(but_for_the_deployment(applied)?),
                }
                if let Some(oldest) = recovered.oldest {
                    tracing::debug!(
                        target: "odm",
                        documents = recovered.documents,
                        oldest_s = oldest.as_secs(),
                        "applied pending work"
                    );
                }
                trace.documents(recovered.copies);
                failed.and(unknown).map(|()| recovered)
            });
            recovered.await
        }
        .boxed()
    }
}

/// A task that applies the pending work of ended processes: [`Odm::worker`].
#[must_use = "a worker ends when it is dropped"]
#[derive(Debug)]
pub struct Worker {
    stop: Arc<Notify>,
    task: Option<JoinHandle<()>>,
}

impl Worker {
    /// Ends the worker at once, also in the middle of a fan-out. It starts no further command; the server may still execute one
    /// that was already sent after this has returned.
    ///
    /// Nothing is lost: unfinished work stays pending in the database, with the progress of a long fan-out, and the next worker
    /// or [`recover`](Odm::recover) continues there. Other workers don't touch this worker's documents until its lease has
    /// expired, after at most ten seconds and a [pause](crate::FanOut::pause); `recover` does not wait for that.
    ///
    /// # Cost
    /// None.
    ///
    /// # Example
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
