//! Executes the changes of a step: passes through a collection in batches, in the order of the ids.
//!
//! A batch is one transaction: the lease with the progress, then the update. What follows in other documents is written behind its commit,
//! as after a write of another program, and before the next batch. For that the batch stores its documents as they were; where the process
//! ends in between, the next one begins with them. On a standalone server a batch may be written twice, which changes nothing the second time.

use super::lease::{self, LEASE, Mark, StepProgress};
use crate::error::driver::{DriverText, error_code};
use crate::model::document::DocumentMeta;
use crate::schema::Change;
use crate::store::batch::{between_ids, document_id};
use crate::store::core::{PRIMARY, act};
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::store::map::Context;
use crate::store::trace::Trace;
use crate::store::transaction::{self, OneSession};
use crate::upkeep::reconcile;
use crate::{Error, Odm, Result};
use futures::TryStreamExt;
use futures::future::{BoxFuture, FutureExt, join_all};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::{Hint, UpdateModifications};
use mongodb::{Collection, Cursor};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a collection is gone through, where documents that need the change come while it is made.
pub(crate) const PASSES: i64 = 3;

/// How many documents a batch goes through at first, at least and at most.
const FIRST_BATCH: i64 = 200;
const SMALLEST_BATCH: i64 = 20;
const GREATEST_BATCH: i64 = 2_000;

/// The same of a run without a pause.
const GREATEST_AT_FULL_RATE: i64 = 10_000;

/// The number of ids that are read at a time.
const AHEAD: u32 = 50_000;

/// How many documents an error names.
const SAMPLES: i64 = 5;

/// How long the server is to be at work on a batch of a run without a pause: the transaction holds its documents for that time.
const BATCH_TIME: Duration = Duration::from_millis(250);

/// The same of other runs, since writes of other programs may wait for a batch. Where the lease and the commit take longer, it is as long as
/// they are, so that at least half of the time is work.
const SHORT_BATCH_TIME: Duration = Duration::from_millis(3);

/// How long a run rests by default, for the time that it works.
const REST: f64 = 0.125;

/// Shorter pauses are made together: a timer is no finer.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// How many bytes of documents a batch reads where a closure changes them.
const BATCH_BYTES: usize = 8 << 20;

/// The size of the updates of one command, of which the last one may be larger: a command has 16 MiB at most.
const COMMAND_BYTES: usize = 8 << 20;

/// The size of the documents that a statement may contain as its guard.
const GREATEST_GUARD: usize = 4 << 20;

/// Replicas may be this far behind before the next batch waits for them.
const LAG: Duration = Duration::from_secs(2);

/// How often replicas are asked, and for how long.
const ASKED_EVERY: Duration = Duration::from_secs(1);
const ASKED_FOR: Duration = Duration::from_secs(2);

/// For how long it waits for a replica: one that is down catches up in another way.
const LAG_WAIT: Duration = Duration::from_secs(60);

/// An update of one document, of its document as it was read.
pub(crate) type UpdateOf = Arc<dyn Fn(&RawDocumentBuf) -> Result<UpdateModifications> + Send + Sync>;

/// Work with the documents of a batch in its transaction.
pub(crate) type WorkOf =
    Arc<dyn Fn(crate::Tx, Vec<RawDocumentBuf>) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// How the documents of one batch are changed.
#[derive(Clone)]
pub(crate) enum How {
    /// By one update of the server for all.
    Pipeline(Vec<Document>),
    /// By an update for each.
    Each(UpdateOf),
    /// By operations of the application.
    Work(WorkOf),
}

/// A change of the documents of one collection.
#[derive(Clone)]
pub(crate) struct CollectionChange {
    pub(crate) collection: String,
    pub(crate) words: String,
    /// The condition of the documents that need it.
    pub(crate) violations: Document,
    /// The condition of those in which it can't be made, and the error in words.
    pub(crate) impossible: Option<(Document, String)>,
    pub(crate) how: How,
}

/// A sign of a process, which it writes while its work lasts.
#[derive(Clone, Copy)]
enum Sign {
    /// The lease.
    Lease,
    /// That it lives: its transaction has written the lease, so that nothing else can.
    Alive,
}

/// A write that is made behind one of the lease.
pub(crate) enum GuardedWrite<'w> {
    Mark {
        step: &'w str,
        mark: Mark<'w>,
        progress: &'w StepProgress,
    },
    Batch {
        change: &'w CollectionChange,
        /// The documents of the batch that need the change.
        filter: Document,
        /// Those that a closure changes, as they were read.
        documents: Vec<RawDocumentBuf>,
        progress: &'w StepProgress,
    },
}

impl GuardedWrite<'_> {
    fn progress(&self) -> &StepProgress {
        match self {
            GuardedWrite::Mark { progress, .. } | GuardedWrite::Batch { progress, .. } => progress,
        }
    }
}

/// The documents that a write has changed.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub(crate) documents: u64,
    /// How long the server was at work on them, without the lease and the commit.
    took: Duration,
    /// Those that something follows from, as they were.
    before: Vec<RawDocumentBuf>,
}

/// A change of a step that is about today's models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForModels {
    /// The stored declarations that the models lack are removed.
    Forget,
    Backfill,
    DeclareInWindow,
    Declare,
}

impl ForModels {
    /// In the order in which they are made behind the last step.
    pub(crate) const ALL: [ForModels; 4] = [
        ForModels::Forget,
        ForModels::Backfill,
        ForModels::DeclareInWindow,
        ForModels::Declare,
    ];

    pub(crate) fn in_words(self) -> &'static str {
        match self {
            ForModels::Forget => "remove the stored declarations that the models lack",
            ForModels::Backfill => "fill what the models declare and documents lack",
            ForModels::Declare => "make collections, validators and indexes as they are declared",
            ForModels::DeclareInWindow => {
                "make collections, validators and indexes as they are declared, where need be by dropping an index before it is built anew"
            }
        }
    }

    /// How many declarations are to be filled, made or removed.
    pub(crate) async fn count(self, odm: &Odm) -> Result<u64> {
        Ok(match self {
            ForModels::Forget => odm.undeclared_copies().await?.len() as u64,
            ForModels::Backfill => odm.plan().await?.backfills().len() as u64,
            ForModels::Declare | ForModels::DeclareInWindow => odm.plan().await?.changes().len() as u64,
        })
    }

    pub(crate) async fn make(self, runner: &Runner) -> Result<()> {
        let odm = &runner.odm;
        runner.confirm().await?;
        match self {
            ForModels::Forget => runner.held(async { odm.forget_copies().await.map(drop) }).await,
            ForModels::Backfill => {
                runner
                    .held(async { odm.backfill().at_once().await.map(drop) })
                    .await
            }
            ForModels::Declare => runner.held(declare(odm, false)).await,
            ForModels::DeclareInWindow => runner.held(declare(odm, true)).await,
        }
    }
}

/// A validator allows the previous shape too while documents have it, and is narrowed by the next declaration.
async fn declare(odm: &Odm, in_window: bool) -> Result<()> {
    let mut plan = odm.plan().await?.replace();
    if in_window {
        plan = plan.in_window();
    }
    let replaces = |change: &Change| {
        matches!(
            change,
            Change::ReplaceIndex { .. } | Change::RetireIndex { .. } | Change::SetValidator { .. }
        )
    };
    if plan.changes().iter().any(replaces) {
        odm.apply(&plan).await?;
    }
    odm.sync().await.map(drop)
}

/// A function that is called with the progress.
pub(crate) type Told = Arc<dyn Fn(&StepProgress) + Send + Sync>;

/// The process that runs steps, while it has the lease.
pub(crate) struct Runner {
    pub(crate) odm: Odm,
    pub(crate) token: ObjectId,
    /// The session of its transactions; `None` on a standalone server.
    session: Option<Arc<tokio::sync::Mutex<OneSession>>>,
    /// The rate of the database; below zero the default.
    rate: AtomicI64,
    /// Set where another process has taken the lease.
    is_lost: AtomicBool,
    progress: Mutex<StepProgress>,
    told: Option<Told>,
    /// The members of the replica set whose heartbeats are read.
    members: Vec<String>,
    /// When they were asked last.
    asked: Mutex<Instant>,
    /// Whether the validator of a collection has refused what a step writes.
    past_validator: AtomicBool,
    /// Whether this step or a later one removes the stored declarations that the models lack.
    forgets: AtomicBool,
    /// Whether documents are stored as they were before a batch.
    has_stored: AtomicBool,
}

impl Runner {
    pub(crate) fn new(
        odm: &Odm,
        token: ObjectId,
        session: Option<Arc<tokio::sync::Mutex<OneSession>>>,
        state: &lease::RunnerState,
        told: Option<Told>,
        members: Vec<String>,
    ) -> Runner {
        Runner {
            odm: odm.clone(),
            token,
            session,
            rate: AtomicI64::new(state.rate.unwrap_or(-1)),
            is_lost: AtomicBool::new(false),
            progress: Mutex::new(state.progress.clone().unwrap_or_default()),
            told,
            members,
            asked: Mutex::new(Instant::now()),
            past_validator: AtomicBool::new(false),
            forgets: AtomicBool::new(false),
            has_stored: AtomicBool::new(state.is_open()),
        }
    }

    /// Notes the changes of this step and of those behind it. Copies whose declarations they remove need not follow what they change.
    pub(crate) fn expects<'c>(&self, mut changes: impl Iterator<Item = &'c String>) {
        let forgets = changes.any(|change| change == ForModels::Forget.in_words());
        self.forgets.store(forgets, Ordering::Relaxed);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    pub(crate) fn progress(&self) -> StepProgress {
        self.progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set_progress(&self, progress: StepProgress) {
        if let Some(told) = &self.told {
            told(&progress);
        }
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// The error by which a step ends after another process has taken over. The caller of the step goes by [`is_lost`](Runner::is_lost).
    pub(crate) fn lost(&self) -> Error {
        self.is_lost.store(true, Ordering::Relaxed);
        Error::Step {
            step: self.progress().step,
            message: "another process has taken over: this one was silent for longer than the lease of 3 s"
                .to_owned(),
        }
    }

    /// Writes the lease.
    ///
    /// # Errors
    /// Where another process has it.
    pub(crate) async fn renew(&self, cx: &Cx<'_>, progress: Option<&StepProgress>) -> Result<()> {
        match lease::write(cx, self.token, progress).await? {
            Some(state) => {
                self.rate.store(state.rate.unwrap_or(-1), Ordering::Relaxed);
                Ok(())
            }
            None => Err(self.lost()),
        }
    }

    /// Writes the lease.
    ///
    /// # Errors
    /// Where another process has it.
    pub(crate) async fn confirm(&self) -> Result<()> {
        let trace = Trace::without_span();
        self.renew(&Cx::new(&self.odm, None, &trace), None).await
    }

    /// Makes a write behind one of the lease: in one transaction, where there are transactions.
    pub(crate) async fn write(&self, write: &GuardedWrite<'_>) -> Result<()> {
        self.write_unless_met(write, false).await.map(drop)
    }

    /// Makes a write behind one of the lease. Gives how many documents were changed, and those that something follows from, as they were;
    /// `None` where it is to be made once and was refused for a reason that passes: it has met the transaction of another program, say.
    async fn write_unless_met(&self, write: &GuardedWrite<'_>, is_once: bool) -> Result<Option<Changed>> {
        let trace = Trace::without_span();
        let was_past = self.past_validator.load(Ordering::Relaxed);
        match self.write_with(&trace, write, was_past, is_once).await {
            // The validator may be that of the shape before: the last change of a step sets the new one.
            Err(_) if !was_past && self.past_validator.load(Ordering::Relaxed) => {
                if self.session.is_none() {
                    // Some documents of the batch may be changed.
                    self.follow_last_batch().await?;
                }
                self.write_with(&trace, write, true, is_once).await
            }
            written => written,
        }
    }

    fn write_with<'s>(
        &'s self,
        trace: &'s Trace,
        write: &'s GuardedWrite<'s>,
        past_validator: bool,
        is_once: bool,
    ) -> BoxFuture<'s, Result<Option<Changed>>> {
        async move {
            let cx = Cx::new(&self.odm, None, trace);
            let Some(session) = &self.session else {
                self.renew(&cx, None).await?;
                let changed = self.held(self.execute(&cx, write, past_validator)).await?;
                self.renew(&cx, Some(write.progress())).await?;
                return Ok(Some(changed));
            };
            let work = async |session| {
                let cx = cx.within(&session);
                self.renew(&cx, Some(write.progress())).await?;
                self.execute(&cx, write, past_validator).await
            };
            let mut session = session.lock().await;
            if is_once {
                return self.beside(Sign::Alive, session.attempt(trace, work)).await;
            }
            let written = self.beside(Sign::Alive, session.transaction(trace, work)).await;
            written.map(Some)
        }
        .boxed()
    }

    async fn execute(&self, cx: &Cx<'_>, write: &GuardedWrite<'_>, past_validator: bool) -> Result<Changed> {
        let began = Instant::now();
        let changed = match write {
            GuardedWrite::Mark { step, mark, .. } => {
                let ends = matches!(mark, Mark::Done { .. } | Mark::Gone);
                if ends && self.has_stored.load(Ordering::Relaxed) {
                    // Before the mark: behind it, no later run would do that.
                    lease::remove_before(cx).await?;
                }
                lease::mark(cx, step, mark).await?;
                Changed::default()
            }
            GuardedWrite::Batch {
                change,
                filter,
                documents,
                ..
            } => match &change.how {
                How::Pipeline(stages) => {
                    self.update_all(cx, change, filter, stages, past_validator)
                        .await?
                }
                How::Each(update) => {
                    self.update_each(cx, change, documents, update, past_validator)
                        .await?
                }
                How::Work(work) => self.work(cx, change, documents, work).await?,
            },
        };
        Ok(Changed {
            took: began.elapsed(),
            ..changed
        })
    }

    /// Executes work that lasts, while the lease is written in the background.
    pub(crate) async fn held<R>(&self, work: impl Future<Output = Result<R>>) -> Result<R> {
        self.beside(Sign::Lease, work).await
    }

    /// Executes work while a sign of this process is written in the background. The work goes on meanwhile: the sign may wait for its
    /// connection.
    async fn beside<R>(&self, sign: Sign, work: impl Future<Output = Result<R>>) -> Result<R> {
        let mut work = std::pin::pin!(work);
        loop {
            let pause = tokio::time::sleep(LEASE / 3);
            tokio::select! {
                done = &mut work => return done,
                () = pause => {}
            }
            let mut written = std::pin::pin!(self.write_sign(sign));
            tokio::select! {
                done = &mut work => {
                    // A lease that is lost is met by the next write.
                    drop(written.await);
                    return done;
                }
                written = &mut written => written?,
            }
        }
    }

    async fn write_sign(&self, sign: Sign) -> Result<()> {
        match sign {
            Sign::Lease => self.confirm().await,
            Sign::Alive => {
                if let Err(error) = lease::show_alive(&self.odm, self.token).await {
                    tracing::debug!(target: "odm", %error, "the sign of a process could not be written");
                }
                Ok(())
            }
        }
    }

    /// Makes a change in all documents that need it.
    ///
    /// # Errors
    /// [`Error::Step`] where documents still need it after some passes.
    pub(crate) async fn change(&self, change: &CollectionChange) -> Result<()> {
        // The validator of another collection says nothing about this one.
        self.past_validator.store(false, Ordering::Relaxed);
        let meta = self.model(&change.collection);
        if let Some(meta) = meta {
            self.check_copies(meta)?;
        }
        self.passes(change, meta).await
    }

    /// # Errors
    /// [`Error::UnknownCopies`], unless a step removes their declarations.
    fn check_copies(&self, meta: &'static DocumentMeta) -> Result<()> {
        if self.forgets.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.odm.knows_copies(meta)
    }

    /// Writes what follows from the last batch of a process that may have ended behind its commit.
    pub(crate) async fn follow_last_batch(&self) -> Result<()> {
        if !self.has_stored.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Some((collection, before)) = self.held(lease::stored_before(&self.odm)).await? else {
            return Ok(());
        };
        let Some(meta) = self.model(&collection) else {
            return Ok(());
        };
        self.check_copies(meta)?;
        self.follow(meta, before).await
    }

    async fn passes(&self, change: &CollectionChange, meta: Option<&'static DocumentMeta>) -> Result<()> {
        let mut batches = Batches::default();
        if let How::Work(_) = change.how {
            // Each document may cost some round trips.
            batches.size = SMALLEST_BATCH;
        }
        loop {
            let mut at = self.progress();
            if at.end.is_none() {
                // Behind a pass hardly any document needs the change, and one that does is asked for before they are counted.
                let is_first = at.pass == 0;
                if is_first {
                    self.check_possible(change).await?;
                } else if self.samples(change, &change.violations, 1).await?.is_empty() {
                    return Ok(());
                }
                let left = self.held(count(&self.odm, change, &change.violations)).await?;
                if left == 0 {
                    return Ok(());
                }
                if at.pass >= PASSES {
                    return Err(self.still_needed(change, left).await?);
                }
                let Some(end) = self.last_id(&change.collection).await? else {
                    return Ok(());
                };
                at = StepProgress {
                    pass: at.pass + 1,
                    total: i64::try_from(left).unwrap_or(i64::MAX),
                    last: None,
                    end: Some(end),
                    ..at
                };
                self.set_progress(at);
            }
            self.pass(change, meta, &mut batches).await?;
        }
    }

    /// # Errors
    /// [`Error::Step`] where the change can't be made in a document.
    async fn check_possible(&self, change: &CollectionChange) -> Result<()> {
        let Some((condition, words)) = &change.impossible else {
            return Ok(());
        };
        match self.samples(change, condition, 1).await?.first() {
            Some(id) => Err(Error::Step {
                step: self.progress().step,
                message: format!("the document of `{}` with _id {id}: {words}", change.collection),
            }),
            None => Ok(()),
        }
    }

    /// The ids of a few documents that match.
    async fn samples(
        &self,
        change: &CollectionChange,
        condition: &Document,
        number: i64,
    ) -> Result<Vec<Bson>> {
        let documents = self.odm.database().collection::<Document>(&change.collection);
        let found = documents
            .find(condition.clone())
            .projection(doc! { "_id": 1 })
            .limit(number)
            .selection_criteria(PRIMARY);
        let found: Vec<Document> = self.held(async { Ok(found.await?.try_collect().await?) }).await?;
        Ok(found.iter().filter_map(|one| one.get("_id").cloned()).collect())
    }

    /// Goes through the collection once.
    async fn pass(
        &self,
        change: &CollectionChange,
        meta: Option<&'static DocumentMeta>,
        batches: &mut Batches,
    ) -> Result<()> {
        batches.ids.clear();
        batches.cursor = None;
        while let Some(end) = self.progress().end {
            let began = Instant::now();
            let documents = self.batch(change, meta, &end, batches).await?;
            self.pause(documents, began.elapsed(), batches).await?;
        }
        Ok(())
    }

    /// The next batch: where it ends, and its documents where a closure changes them.
    async fn next_batch(
        &self,
        change: &CollectionChange,
        end: &Bson,
        size: usize,
        batches: &mut Batches,
    ) -> Result<(Option<Bson>, Vec<RawDocumentBuf>)> {
        let last = self.progress().last;
        let documents = self
            .odm
            .database()
            .collection::<RawDocumentBuf>(&change.collection);
        let range = between_ids(last.as_ref(), end);
        if let How::Pipeline(_) = change.how {
            if batches.ids.is_empty() {
                let ahead = async { Ok(batches.read_ahead(&documents, range).await?) };
                self.held(ahead).await?;
            }
            let last = batches.ids.get(size.saturating_sub(1)).or(batches.ids.back());
            return Ok((last.cloned(), Vec::new()));
        }
        let limit = i64::try_from(size).unwrap_or(i64::MAX);
        let found = documents
            .find(all([change.violations.clone(), range]))
            .sort(doc! { "_id": 1 })
            .limit(limit)
            .selection_criteria(PRIMARY);
        // The server may go through many documents until it finds one.
        self.held(async {
            let mut cursor = found.await?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            while let Some(document) = cursor.try_next().await? {
                bytes += document.as_bytes().len();
                found.push(document);
                if found.len() >= size || bytes >= BATCH_BYTES {
                    let last = found.last().map(document_id);
                    return Ok((last, found));
                }
            }
            Ok((None, found))
        })
        .await
    }

    /// The number of documents of the next batch: at a rate, those of one second at most.
    fn size_of_batch(&self, batches: &Batches) -> usize {
        let rate = self.rate.load(Ordering::Relaxed);
        let size = if rate > 0 {
            batches.size.min(rate)
        } else {
            batches.size
        };
        usize::try_from(size).unwrap_or(1).max(1)
    }

    /// Changes the next documents.
    async fn batch(
        &self,
        change: &CollectionChange,
        meta: Option<&'static DocumentMeta>,
        end: &Bson,
        batches: &mut Batches,
    ) -> Result<u64> {
        let size = self.size_of_batch(batches);
        let (last, documents) = self.next_batch(change, end, size, batches).await?;
        let at = self.progress();
        let last = last.unwrap_or_else(|| end.clone());
        let filter = all([change.violations.clone(), between_ids(at.last.as_ref(), &last)]);
        let next = at.behind(&last, end);
        let write = GuardedWrite::Batch {
            change,
            filter: filter.clone(),
            documents,
            progress: &next,
        };
        let began = Instant::now();
        let written = self.write_unless_met(&write, size > 1).await;
        let changed = match written {
            Ok(Some(changed)) => changed,
            Ok(None) => {
                batches.met_another(size);
                return Ok(0);
            }
            Err(error) => {
                // Another process may have taken over, and ended the transaction.
                self.confirm().await?;
                return Err(self.with_document(change, filter, error).await);
            }
        };
        batches.drop_ids(size);
        let is_full_rate = self.rate.load(Ordering::Relaxed) == 0;
        batches.took(changed.took, began.elapsed(), is_full_rate);
        let number = i64::try_from(changed.documents).unwrap_or(i64::MAX);
        self.set_progress(StepProgress {
            documents: next.documents.saturating_add(number),
            ..next.clone()
        });
        if let Some(meta) = meta {
            self.follow(meta, changed.before).await?;
        }
        Ok(changed.documents)
    }

    async fn update_all(
        &self,
        cx: &Cx<'_>,
        change: &CollectionChange,
        filter: &Document,
        stages: &[Document],
        past_validator: bool,
    ) -> Result<Changed> {
        let before = self.before(cx, change, filter).await?;
        let documents = self.odm.database().collection::<Document>(&change.collection);
        let (filter, stages) = (filter.clone(), stages.to_vec());
        cx.trip();
        let updated = act!(cx, write, {
            let update = documents.update_many(filter, stages);
            if past_validator {
                update.bypass_document_validation(true)
            } else {
                update
            }
        });
        let updated = updated.map_err(|error| self.refused(change, error))?;
        Ok(Changed {
            documents: updated.modified_count,
            before,
            ..Changed::default()
        })
    }

    /// The error of a pipeline that the server can't evaluate in a document, with that document, which is found by halves.
    async fn with_document(&self, change: &CollectionChange, filter: Document, error: Error) -> Error {
        let How::Pipeline(stages) = &change.how else {
            return error;
        };
        if self.is_lost()
            || !matches!(error.driver_error().and_then(error_code), Some(code) if code != VALIDATION)
        {
            return error;
        }
        match self.held(self.first_refused(change, stages, filter)).await {
            Ok(Some((id, refused))) => Error::Step {
                step: self.progress().step,
                message: format!(
                    "the server can't make the change \"{}\" in the document of `{}` with _id {id}: {}",
                    change.words,
                    change.collection,
                    DriverText(&refused)
                ),
            },
            // Another error than one of the expressions.
            Ok(None) | Err(_) => error,
        }
    }

    /// A document of which the server can't make what a pipeline says, and its error.
    async fn first_refused(
        &self,
        change: &CollectionChange,
        stages: &[Document],
        filter: Document,
    ) -> Result<Option<(Bson, mongodb::error::Error)>> {
        let documents = self.odm.database().collection::<Document>(&change.collection);
        let found = documents.find(filter).projection(doc! { "_id": 1 });
        let found: Vec<Document> = found.selection_criteria(PRIMARY).await?.try_collect().await?;
        let mut ids: Vec<Bson> = found.iter().filter_map(|one| one.get("_id").cloned()).collect();
        let refusal = async |ids: &[Bson]| -> Result<Option<mongodb::error::Error>> {
            let mut pipeline = vec![doc! { "$match": { "_id": { "$in": ids } } }];
            pipeline.extend(stages.iter().cloned());
            let made = async {
                let mut made = documents.aggregate(pipeline).selection_criteria(PRIMARY).await?;
                while made.advance().await? {}
                Ok(())
            };
            match made.await {
                Ok(()) => Ok(None),
                Err(error) if error_code(&error).is_some() => Ok(Some(error)),
                Err(error) => Err(error.into()),
            }
        };
        let mut refused = refusal(&ids).await?;
        while ids.len() > 1 && refused.is_some() {
            let rest = ids.split_off(ids.len() / 2);
            match refusal(&ids).await? {
                Some(error) => refused = Some(error),
                None => {
                    ids = rest;
                    refused = refusal(&ids).await?;
                }
            }
        }
        Ok(ids.pop().zip(refused))
    }

    /// The documents that match, with the fields that something follows from. They are stored for a process that goes on where this one ends.
    async fn before(
        &self,
        cx: &Cx<'_>,
        change: &CollectionChange,
        filter: &Document,
    ) -> Result<Vec<RawDocumentBuf>> {
        let graph = self.odm.graph();
        match self
            .model(&change.collection)
            .filter(|meta| reconcile::is_followed(graph, meta))
        {
            Some(meta) => {
                let fields = reconcile::followed_fields(graph, meta);
                let before = cx.every(meta, filter.clone(), fields).await?;
                lease::store_before(cx, &change.collection, &before).await?;
                self.has_stored.store(true, Ordering::Relaxed);
                Ok(before)
            }
            None => Ok(Vec::new()),
        }
    }

    async fn work(
        &self,
        cx: &Cx<'_>,
        change: &CollectionChange,
        documents: &[RawDocumentBuf],
        work: &WorkOf,
    ) -> Result<Changed> {
        let Some(session) = cx.session else {
            return Err(Error::Unsupported {
                operation: "a step with `run`, whose operations are one transaction with its progress",
                needs: "a replica set or a sharded cluster",
                is: self.odm.server().await?.to_string(),
            });
        };
        // As they are in this transaction.
        let ids: Vec<Bson> = documents.iter().map(document_id).collect();
        let filter = all([doc! { "_id": { "$in": ids } }, change.violations.clone()]);
        let before = self.before(cx, change, &filter).await?;
        let now = self.read_in(session, &change.collection, filter).await?;
        let documents = now.len() as u64;
        if documents > 0 {
            work(crate::Tx::new(self.odm.clone(), session.clone()), now).await?;
        }
        Ok(Changed {
            documents,
            before,
            ..Changed::default()
        })
    }

    /// The documents that match, within the transaction.
    async fn read_in(
        &self,
        session: &transaction::Session,
        collection: &str,
        filter: Document,
    ) -> Result<Vec<RawDocumentBuf>> {
        let documents = self.odm.database().collection::<RawDocumentBuf>(collection);
        let mut session = session.lend(&self.odm).await?;
        let mut cursor = documents
            .find(filter)
            .sort(doc! { "_id": 1 })
            .session(&mut *session)
            .await?;
        let mut found = Vec::new();
        while let Some(document) = cursor.next(&mut session).await {
            found.push(document?);
        }
        Ok(found)
    }

    async fn update_each(
        &self,
        cx: &Cx<'_>,
        change: &CollectionChange,
        found: &[RawDocumentBuf],
        update: &UpdateOf,
        past_validator: bool,
    ) -> Result<Changed> {
        let mut commands: Vec<Vec<Document>> = Vec::new();
        let mut bytes = 0;
        for document in found {
            let read = Document::try_from(document.as_ref());
            let read = read.map_err(|error| Error::application(error.to_string()))?;
            let modifications: Bson = match update(document)? {
                UpdateModifications::Document(update) => update.into(),
                UpdateModifications::Pipeline(stages) => stages.into(),
                _ => return Err(Error::application("an update is a document or a pipeline")),
            };
            // The closure has seen this document and no later one. A statement has 16 MiB at most.
            let guard = if document.as_bytes().len() < GREATEST_GUARD {
                doc! { "$expr": { "$eq": ["$$ROOT", { "$literal": read }] } }
            } else {
                change.violations.clone()
            };
            let which = all([doc! { "_id": document_id(document) }, guard]);
            let one = doc! { "q": which, "u": modifications, "multi": false };
            let size =
                RawDocumentBuf::try_from(&one).map_err(|error| Error::application(error.to_string()))?;
            bytes += size.as_bytes().len();
            match commands.last_mut() {
                Some(updates) if bytes <= COMMAND_BYTES => updates.push(one),
                _ => {
                    bytes = size.as_bytes().len();
                    commands.push(vec![one]);
                }
            }
        }
        if commands.is_empty() {
            return Ok(Changed::default());
        }
        let ids: Vec<Bson> = found.iter().map(document_id).collect();
        let before = self.before(cx, change, &doc! { "_id": { "$in": ids } }).await?;
        let (mut documents, mut rest) = (0, found);
        for updates in commands {
            let (own, later) = rest.split_at(updates.len().min(rest.len()));
            rest = later;
            documents += self
                .send_updates(cx, change, own, updates, past_validator)
                .await?;
        }
        Ok(Changed {
            documents,
            before,
            ..Changed::default()
        })
    }

    /// Sends the updates of these documents, and gives how many were changed.
    async fn send_updates(
        &self,
        cx: &Cx<'_>,
        change: &CollectionChange,
        found: &[RawDocumentBuf],
        updates: Vec<Document>,
        past_validator: bool,
    ) -> Result<u64> {
        let mut command = doc! { "update": &change.collection, "updates": updates, "ordered": true };
        if past_validator {
            command.insert("bypassDocumentValidation", true);
        }
        if cx.session.is_none() {
            command.insert("writeConcern", doc! { "w": "majority" });
        }
        let database = self.odm.database().clone();
        cx.trip();
        let reply = act!(cx, command, database.run_command(command));
        let reply = reply.map_err(|error| self.refused(change, error))?;
        let refused = reply
            .get_array("writeErrors")
            .ok()
            .and_then(|errors| errors.first());
        if let Some(refused) = refused.and_then(Bson::as_document) {
            return Err(self.refused_one(change, found, refused));
        }
        let modified = reply
            .get("nModified")
            .and_then(|n| n.as_i32().map(i64::from).or(n.as_i64()));
        Ok(modified.and_then(|n| u64::try_from(n).ok()).unwrap_or_default())
    }

    /// The error of a document that the server refused in a command of updates.
    fn refused_one(&self, change: &CollectionChange, found: &[RawDocumentBuf], refused: &Document) -> Error {
        let at = refused
            .get_i32("index")
            .ok()
            .and_then(|at| usize::try_from(at).ok());
        let id = at
            .and_then(|at| found.get(at))
            .map(document_id)
            .unwrap_or(Bson::Null);
        let code = refused.get_i32("code").unwrap_or_default();
        if code == VALIDATION {
            self.past_validator.store(true, Ordering::Relaxed);
        }
        Error::Step {
            step: self.progress().step,
            message: format!(
                "the server refused the update of the document of `{}` with _id {id}: {} (code {code})",
                change.collection,
                refused.get_str("errmsg").unwrap_or_default()
            ),
        }
    }

    fn refused(&self, change: &CollectionChange, error: mongodb::error::Error) -> Error {
        if error_code(&error) == Some(VALIDATION) {
            self.past_validator.store(true, Ordering::Relaxed);
        }
        match self.model(&change.collection) {
            Some(meta) => Context::new(meta).driver(error),
            None => error.into(),
        }
    }

    /// Writes what follows from the change of these documents, given as they were.
    async fn follow(&self, meta: &'static DocumentMeta, before: Vec<RawDocumentBuf>) -> Result<()> {
        if before.is_empty() {
            return Ok(());
        }
        let trace = Trace::without_span();
        // Between two steps the documents are as no validator has it.
        let cx = Cx::new(&self.odm, None, &trace).unvalidated();
        self.held(reconcile::follow_change(&cx, meta, before)).await
    }

    fn model(&self, collection: &str) -> Option<&'static DocumentMeta> {
        let mut models = self.odm.graph().models();
        models.find(|meta| meta.collection == collection)
    }

    async fn last_id(&self, collection: &str) -> Result<Option<Bson>> {
        let documents = self.odm.database().collection::<Document>(collection);
        let last = documents
            .find_one(doc! {})
            .projection(doc! { "_id": 1 })
            .sort(doc! { "_id": -1 })
            .hint(by_id())
            .selection_criteria(PRIMARY)
            .await?;
        Ok(last.and_then(|last| last.get("_id").cloned()))
    }

    /// The error of documents that need the change after all passes. The next run begins anew with this change.
    async fn still_needed(&self, change: &CollectionChange, left: u64) -> Result<Error> {
        let sample = self.samples(change, &change.violations, SAMPLES).await?;
        let at = StepProgress {
            pass: 0,
            last: None,
            end: None,
            ..self.progress()
        };
        let trace = Trace::without_span();
        self.renew(&Cx::new(&self.odm, None, &trace), Some(&at)).await?;
        let ids: Vec<String> = sample.iter().map(Bson::to_string).collect();
        let documents = crate::schema::plural(left, "document");
        let needs = if left == 1 { "needs" } else { "need" };
        Ok(Error::Step {
            step: at.step,
            message: format!(
                "{documents} of `{}` still {needs} the change \"{}\" after {PASSES} passes, among them _id {}: a program of the version before \
                 may write them, or the step leaves them as they are. Deploy the new version everywhere and run the steps again, which \
                 goes on here",
                change.collection,
                change.words,
                ids.join(", ")
            ),
        })
    }

    /// Waits as the rate demands, and for replicas that are behind.
    async fn pause(&self, documents: u64, took: Duration, batches: &mut Batches) -> Result<()> {
        let rate = self.rate.load(Ordering::Relaxed);
        let pause = match u64::try_from(rate) {
            Err(_) => took.mul_f64(REST),
            Ok(0) => Duration::ZERO,
            Ok(rate) => Duration::from_secs_f64(documents as f64 / rate as f64).saturating_sub(took),
        };
        let pause = pause + batches.pause_left;
        batches.pause_left = pause;
        if rate == 0 {
            batches.pause_left = Duration::ZERO;
        } else if pause >= SHORTEST_PAUSE {
            let began = Instant::now();
            self.held(async {
                tokio::time::sleep(pause).await;
                Ok(())
            })
            .await?;
            batches.pause_left = pause.saturating_sub(began.elapsed());
        }
        {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if self.members.is_empty() || asked.elapsed() < ASKED_EVERY {
                return Ok(());
            }
            *asked = Instant::now();
        }
        self.held(self.wait_for_replicas()).await
    }

    async fn wait_for_replicas(&self) -> Result<()> {
        let (state, _) = lease::look(&self.odm).await?;
        let Some(beat) = state.beat else { return Ok(()) };
        let began = Instant::now();
        for member in &self.members {
            while began.elapsed() < LAG_WAIT {
                // A member that is down is not waited for.
                let Some(there) = beat_of(&self.odm, member).await else {
                    break;
                };
                if is_behind(beat, there) {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                } else {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether a member lags, given the heartbeat that was written and the one that the member has.
fn is_behind(written: DateTime, there: DateTime) -> bool {
    let behind = written
        .timestamp_millis()
        .saturating_sub(there.timestamp_millis());
    u64::try_from(behind).is_ok_and(|behind| u128::from(behind) > LAG.as_millis())
}

/// The time of the last heartbeat that a member has, if it answers.
async fn beat_of(odm: &Odm, member: &str) -> Option<DateTime> {
    let asked = tokio::time::timeout(ASKED_FOR, lease::beat_of(odm, member));
    asked.await.ok()?.ok()
}

/// The other members of the replica set that answer: one round trip, and one for each.
pub(crate) async fn members(odm: &Odm) -> Result<Vec<String>> {
    let hello = odm.database().run_command(doc! { "hello": 1 }).await?;
    let primary = hello.get_str("primary").unwrap_or_default();
    // Members that can't become primary are not among `hosts`.
    let all = ["hosts", "passives"]
        .into_iter()
        .filter_map(|name| hello.get_array(name).ok());
    let hosts = all
        .flatten()
        .filter_map(Bson::as_str)
        .filter(|host| *host != primary);
    let asked = hosts.map(|host| async move { beat_of(odm, host).await.map(|_| host.to_owned()) });
    let members: Vec<String> = join_all(asked).await.into_iter().flatten().collect();
    Ok(members)
}

/// DocumentValidationFailure.
const VALIDATION: i32 = 121;

impl StepProgress {
    /// The progress behind a batch that ends with this document.
    fn behind(&self, last: &Bson, end: &Bson) -> StepProgress {
        let is_end = last == end;
        StepProgress {
            last: Some(last.clone()),
            end: Some(end.clone()).filter(|_| !is_end),
            ..self.clone()
        }
    }
}

/// The index of `_id`.
fn by_id() -> Hint {
    Hint::Keys(doc! { "_id": 1 })
}

/// The batches of a pass.
struct Batches {
    /// The number of documents that a batch goes through, by the time that the ones before have taken.
    size: i64,
    /// The time for which the run is still to rest.
    pause_left: Duration,
    /// The next ids, where the server changes the documents.
    ids: VecDeque<Bson>,
    /// Those behind them.
    cursor: Option<Cursor<RawDocumentBuf>>,
}

impl Default for Batches {
    fn default() -> Batches {
        Batches {
            size: FIRST_BATCH,
            pause_left: Duration::ZERO,
            ids: VecDeque::new(),
            cursor: None,
        }
    }
}

impl Batches {
    /// Reads the next ids of a range: the index of `_id` alone.
    async fn read_ahead(
        &mut self,
        documents: &Collection<RawDocumentBuf>,
        range: Document,
    ) -> mongodb::error::Result<()> {
        if let Some(cursor) = &mut self.cursor {
            match next_ids(cursor, &mut self.ids).await {
                Ok(()) => return Ok(()),
                // The server closes a cursor that nothing reads for ten minutes: another one begins where it ended.
                Err(_) => self.ids.clear(),
            }
        }
        let found = documents.find(range).projection(doc! { "_id": 1 });
        let found = found.sort(doc! { "_id": 1 }).hint(by_id()).batch_size(AHEAD);
        let mut cursor = found.selection_criteria(PRIMARY).await?;
        next_ids(&mut cursor, &mut self.ids).await?;
        self.cursor = Some(cursor);
        Ok(())
    }

    /// Chooses the size of the next batch: the server was at work on this one for `work`, of `all` with the lease and the commit.
    fn took(&mut self, work: Duration, all: Duration, is_full_rate: bool) {
        let (aim, greatest) = if is_full_rate {
            (BATCH_TIME, GREATEST_AT_FULL_RATE)
        } else {
            (
                all.saturating_sub(work).clamp(SHORT_BATCH_TIME, BATCH_TIME),
                GREATEST_BATCH,
            )
        };
        let times = aim.as_secs_f64() / work.as_secs_f64().max(1e-6);
        let size = self.size as f64 * times.clamp(0.5, 2.0);
        // One that has met other transactions may be smaller.
        let smallest = SMALLEST_BATCH.min(self.size);
        self.size = (size as i64).clamp(smallest, greatest);
    }

    /// Makes the next batch smaller: a short transaction of few documents meets others less often.
    fn met_another(&mut self, size: usize) {
        self.size = i64::try_from(size / 4).unwrap_or(SMALLEST_BATCH).max(1);
    }

    /// Takes the ids of a batch out of those that were read ahead.
    fn drop_ids(&mut self, number: usize) {
        self.ids.drain(..number.min(self.ids.len()));
    }
}

async fn next_ids(
    cursor: &mut Cursor<RawDocumentBuf>,
    ids: &mut VecDeque<Bson>,
) -> mongodb::error::Result<()> {
    while ids.len() < AHEAD as usize
        && let Some(document) = cursor.try_next().await?
    {
        ids.push_back(document_id(&document));
    }
    Ok(())
}

/// The number of documents of the changed collection that match.
pub(crate) async fn count(odm: &Odm, change: &CollectionChange, condition: &Document) -> Result<u64> {
    let documents = odm.database().collection::<Document>(&change.collection);
    let counted = documents.count_documents(condition.clone());
    Ok(counted.selection_criteria(PRIMARY).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of batches after some on which the server was at work for so many microseconds a document, with so many milliseconds for the
    /// lease and the commit.
    fn size_after(document: u64, rest: u64, is_full_rate: bool) -> i64 {
        let mut batches = Batches::default();
        for _ in 0..20 {
            let work = Duration::from_micros(document * batches.size.unsigned_abs());
            batches.took(work, work + Duration::from_millis(rest), is_full_rate);
        }
        batches.size
    }

    #[test]
    fn a_batch_becomes_as_large_as_its_time_allows() {
        assert_eq!(size_after(10, 1, true), GREATEST_AT_FULL_RATE);
        assert!((240..=250).contains(&size_after(1_000, 1, true)));
        assert!((290..=300).contains(&size_after(10, 1, false)));
        // A commit that waits for replicas: half of the time is work.
        assert!((990..=1_000).contains(&size_after(10, 10, false)));
        assert_eq!(size_after(10, 200, false), GREATEST_BATCH);
        for is_full_rate in [true, false] {
            assert_eq!(size_after(100_000, 1, is_full_rate), SMALLEST_BATCH);
        }
    }

    #[test]
    fn a_batch_that_meets_others_shrinks_to_one_document_and_grows_by_twice_at_most() {
        let mut batches = Batches::default();
        let sizes: Vec<i64> = (0..5)
            .map(|_| {
                batches.met_another(usize::try_from(batches.size).unwrap());
                batches.size
            })
            .collect();
        assert_eq!(sizes, [50, 12, 3, 1, 1]);
        for size in [2, 4, 8, 16, 32] {
            batches.took(Duration::ZERO, Duration::from_secs(1), false);
            assert_eq!(batches.size, size);
        }
        // A batch of which a rate takes a part.
        batches.met_another(8);
        assert_eq!(batches.size, 2);
    }

    #[test]
    fn a_member_lags_that_has_a_heartbeat_of_more_than_two_seconds_before() {
        let at = DateTime::from_millis;
        assert!(!is_behind(at(9_000), at(9_000)) && !is_behind(at(9_000), at(7_000)));
        assert!(is_behind(at(9_001), at(7_000)) && is_behind(at(9_000), DateTime::MIN));
        // It has a later one than was read before.
        assert!(!is_behind(at(9_000), at(20_000)));
    }

    #[test]
    fn the_last_batch_of_a_pass_ends_it() {
        let at = StepProgress {
            last: Some(5.into()),
            end: Some(9.into()),
            ..StepProgress::default()
        };
        let middle = at.behind(&7.into(), &9.into());
        assert_eq!((middle.last, middle.end), (Some(7.into()), Some(9.into())));
        let end = at.behind(&9.into(), &9.into());
        assert_eq!((end.last, end.end), (Some(9.into()), None));
    }
}
