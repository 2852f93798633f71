//! Transactions: several writes as one, with the driver's retry rules.

use crate::engine::after_commit;
use crate::engine::after_commit::AfterCommit;
use crate::engine::apply;
use crate::engine::remove::Later;
use crate::rules::exists::Recheck;
use crate::rules::pending;
use crate::store::queue::{QueueKey, Turns, at_random};
use crate::{Collection, Document, Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::ClientSession;
use mongodb::options::{ReadConcern, ReadPreference, SelectionCriteria, TransactionOptions, WriteConcern};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};

/// How long a transaction is tried again: the drivers' limit. Source:
/// <https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md>
const RETRY_FOR: Duration = Duration::from_secs(120);

/// The longest pause before a transaction of the application is run again, which grows by half each time up to half a second: the
/// same specification.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The session that the operations of a transaction share. The driver executes one operation of a session at a time, so they
/// take turns.
#[derive(Clone)]
pub(crate) struct Shared {
    session: Arc<Mutex<ClientSession>>,
    /// Operations of several commands are executed one after the other: each reads documents that it then changes, and none
    /// expects other writes in between.
    turn: Arc<Mutex<()>>,
    end: Arc<std::sync::Mutex<End>>,
}

/// The turn of an operation that is several commands.
pub(crate) struct Turn<'s> {
    shared: &'s Shared,
    _turn: MutexGuard<'s, ()>,
    is_over: bool,
}

impl Turn<'_> {
    /// It has ended, whatever came of it.
    pub(crate) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.end().dropped = true;
        }
    }
}

/// The state that the transaction's operations leave for its end.
#[derive(Default)]
struct End {
    /// Why it may not be committed, and whether it may succeed if it is run again.
    spoiled: Option<(String, bool)>,
    /// Whether an operation was dropped before it completed, by a timeout, say. Its own write may be made without its effects
    /// on other documents.
    dropped: bool,
    /// Whether an upsert was refused for a document that another client inserted: run again, it updates that document.
    raced: bool,
    /// Documents that a transaction of another client has written at the same time.
    met: Vec<QueueKey>,
    /// References to check again, and work to apply, after the commit.
    after: AfterCommit,
}

impl Shared {
    fn new(session: ClientSession) -> Shared {
        Shared {
            session: Arc::new(Mutex::new(session)),
            turn: Arc::default(),
            end: Arc::default(),
        }
    }

    pub(crate) async fn lock(&self) -> MutexGuard<'_, ClientSession> {
        self.session.lock().await
    }

    /// Waits for the operations before. One that is dropped before its end keeps the transaction from being committed.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        Turn {
            shared: self,
            _turn: self.turn.lock().await,
            is_over: false,
        }
    }

    fn end(&self) -> std::sync::MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// An operation failed: the server has ended the transaction, or a part of it was written, and it can only be rolled back.
    pub(crate) fn spoil(&self, error: &Error) {
        self.end()
            .spoiled
            .get_or_insert_with(|| (error.to_string(), error.is_transient_transaction_error()));
    }

    /// An upsert was refused for a document that another client inserted after the transaction began: the transaction is run again.
    pub(crate) fn raced(&self) {
        self.end().raced = true;
    }

    /// These documents are written by another transaction at the same time, which ends this one: it waits for its turn at them when
    /// it is run again.
    pub(crate) fn met(&self, documents: impl Iterator<Item = QueueKey>) {
        self.end().met.extend(documents);
    }

    /// Remembers that the server refused an operation, which ends the transaction there, also where the program passes the
    /// error over.
    pub(crate) fn noted<R>(&self, outcome: mongodb::error::Result<R>) -> mongodb::error::Result<R> {
        use mongodb::error::ErrorKind::{BulkWrite, Command, InsertMany, Write};
        if let Err(error) = &outcome
            && matches!(&*error.kind, Command(_) | Write(_) | InsertMany(_) | BulkWrite(_))
        {
            let again = error.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR);
            self.end()
                .spoiled
                .get_or_insert_with(|| (crate::error::Told(error).to_string(), again));
        }
        outcome
    }

    /// Asks once more, after the commit, whether the targets of what was written are still there.
    pub(crate) fn at_the_end(&self, recheck: Recheck) {
        self.end().after.written.push(recheck);
    }

    /// Registers pending work of this collection's documents with this token, to be applied after the commit.
    pub(crate) fn add_pending(
        &self,
        meta: &'static crate::model::document::DocumentMeta,
        token: pending::Token,
    ) {
        self.end().after.left.add(meta, token);
    }

    /// Registers all this work, to be applied after the commit.
    pub(crate) fn leave(&self, deferred: apply::DeferredWork) {
        self.end().after.left.add_all(deferred);
    }

    /// Looks once more, after the commit, whether something refers to what was deleted.
    pub(crate) fn look_at_the_end(&self, deleted: Vec<Later>) {
        self.end().after.deleted.extend(deleted);
    }
}

/// An open transaction. Collections that come from it read and write within it; those of the [`Odm`] do not.
///
/// Cheap to clone. The operations of one transaction take turns, also where they are awaited together.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// odm.transaction(async |tx| {
///     let accounts = tx.collection::<Account>();
///     accounts.update(&1).inc(|a| a.cents, -500).await?;
///     accounts.update(&2).inc(|a| a.cents, 500).await?;
///     Ok(())
/// })
/// .await?;
/// # Ok(()) }
/// ```
///
/// It ends with the closure that it was handed to: what a collection or a stream of it does later is no part of the
/// transaction any more.
#[derive(Clone)]
pub struct Tx {
    odm: Odm,
    session: Shared,
}

impl std::fmt::Debug for Tx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("odm", &self.odm)
            .finish_non_exhaustive()
    }
}

/// An [`Odm`] or a [`Tx`]: what gives typed collections, so that a function works in a transaction and outside of one.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// use odm::Handle;
///
/// async fn deposit(handle: &impl Handle, account: i64, cents: i64) -> odm::Result<()> {
///     handle.collection::<Account>().update(&account).inc(|a| a.cents, cents).await?;
///     Ok(())
/// }
///
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// deposit(&odm, 1, 500).await?;
/// odm.transaction(async |tx| {
///     deposit(&tx, 1, -500).await?;
///     deposit(&tx, 2, 500).await
/// })
/// .await?;
/// # Ok(()) }
/// ```
pub trait Handle: sealed::Sealed + Send + Sync {
    /// The collection of `T`: of the database, or within the transaction.
    fn collection<T: Document>(&self) -> Collection<T>;

    /// Several writes to several collections: see [`Odm::bulk`].
    fn bulk(&self) -> crate::Bulk;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Odm {}
    impl Sealed for super::Tx {}
}

impl Handle for Odm {
    fn collection<T: Document>(&self) -> Collection<T> {
        Odm::collection(self)
    }

    fn bulk(&self) -> crate::Bulk {
        Odm::bulk(self)
    }
}

impl Handle for Tx {
    fn collection<T: Document>(&self) -> Collection<T> {
        Tx::collection(self)
    }

    fn bulk(&self) -> crate::Bulk {
        Tx::bulk(self)
    }
}

impl Tx {
    /// The collection of `T`, within the transaction.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm, id: ObjectId) -> odm::Result<()> {
    /// let person = odm.transaction(async |tx| tx.collection::<Person>().get(id).await).await?;
    /// # Ok(()) }
    /// ```
    pub fn collection<T: Document>(&self) -> Collection<T> {
        Collection::new(&self.odm, Some(self.session.clone()))
    }

    /// Several writes to several collections, within the transaction.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     tx.bulk()
    ///         .update::<Account>(&1, |a| a.inc(|a| a.cents, -500))
    ///         .update::<Account>(&2, |a| a.inc(|a| a.cents, 500))
    ///         .await
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub fn bulk(&self) -> crate::Bulk {
        crate::Bulk::new(&self.odm, Some(self.session.clone()))
    }

    /// Lends the driver's session, for an operation of the driver's own within the transaction. Nothing else of the
    /// transaction runs meanwhile.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     let people = tx.collection::<Person>().driver::<Person>();
    ///     let mut session = tx.session().await;
    ///     people.update_one(doc! {}, doc! { "$currentDate": { "seen": true } }).session(&mut *session).await?;
    ///     Ok(())
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub async fn session(&self) -> MutexGuard<'_, ClientSession> {
        self.session.lock().await
    }
}

impl Odm {
    /// Executes `work` as one transaction: all of its writes or none. Reads see one snapshot; the commit has the write concern
    /// `majority`.
    ///
    /// `work` may run several times: after an error that MongoDB marks as transient (`TransientTransactionError`), the
    /// transaction is rolled back and retried, and a commit of unknown outcome is sent again, for two minutes altogether, [the
    /// limit of all
    /// drivers](https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md).
    /// It is also retried up to five times where an [upsert](crate::UpdateMany::upsert) by a unique key was refused because of
    /// a document that was inserted at the same time. So `work` should do nothing but read and write through `tx`. An error
    /// that `work` returns rolls the transaction back and is returned; [`Error::application`] makes one of the application's
    /// own.
    ///
    /// An operation that the server refuses ends the transaction: if `work` ignores that error and goes on, nothing is
    /// committed. The transaction then returns an [`Error::Application`] with the text of the failure, since the error itself
    /// was handed to `work`; `downcast_ref` tells it from an error of the application. The same happens after a write whose
    /// copies or other side failed (a two-way reference to a document that does not exist), after a deletion that failed
    /// halfway, and where `work` drops an operation before it completes, as a timeout does, if the operation adds references or
    /// changes copies, computed fields or the other side of a reference. Errors that are found before the write is sent
    /// ([`Error::Invalid`], [`Error::StillReferenced`], [`Error::MissingReference`] of a one-way reference) and errors of an
    /// update that matches nothing ([`Error::NotFound`], [`Error::ArrayFull`]) may be ignored: the transaction continues.
    ///
    /// A written reference is checked in the transaction's snapshot, and again after the commit, since the transaction and
    /// another client's delete of the target can both succeed. If the target is gone by then, the references to it are undone
    /// (inserted documents are deleted, changed references get their previous values) while the transaction's other writes
    /// stay, and the transaction returns [`Error::MissingReference`]. References that are not checked, and those with
    /// `on_delete = keep`, are left as they are.
    ///
    /// In the same way, references to deleted documents are looked up again after the commit, and their `on_delete` rule is
    /// applied. A reference with `restrict` restores the deleted document while the transaction's other writes stay, and the
    /// transaction returns [`Error::StillReferenced`].
    ///
    /// No other error is returned after the commit. Pending work that can't be applied is left to [`recover`](Odm::recover),
    /// and references that can't be looked up are left to [`audit`](Odm::audit); both are logged.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a standalone server. The error that `work` returns; [`Error::Application`] where it ignored an
    /// error that ended the transaction. [`Error::MissingReference`] and [`Error::StillReferenced`].
    ///
    /// # Cost
    /// One round trip for the commit, beyond those of `work`; one more for the first question about the deployment; and one
    /// more for each collection that a written reference names, and for each declared reference to deleted documents.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.transaction(async |tx| {
    ///     let accounts = tx.collection::<Account>();
    ///     accounts.update(&1).inc(|a| a.cents, -500).await?;
    ///     accounts.update(&2).inc(|a| a.cents, 500).await?;
    ///     Ok(())
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    pub async fn transaction<R, F, Fut>(&self, work: F) -> Result<R>
    where
        F: Fn(Tx) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        let mut run = Run::new(self).await?;
        loop {
            let tx = run.begin().await?;
            if let Some(result) = run.end(work(tx).await).await? {
                return Ok(result);
            }
            run.pause().await;
        }
    }

    /// A transaction of the library's own, which will write these documents, as far as that is known. It takes turns with the others
    /// of this process: those that write one of them would only abort each other. Between its attempts it keeps its turns, and waits
    /// about as long as another process's transaction takes. Its time begins with its turn.
    ///
    /// # Errors
    /// As [`transaction`](Odm::transaction).
    pub(crate) async fn take_turns<R, F, Fut>(&self, documents: Vec<QueueKey>, work: F) -> Result<R>
    where
        F: Fn(Tx) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        let mut turns = InTurn::new(self, documents, None).await?;
        loop {
            let tx = turns.begin().await?;
            let made = work(tx).await;
            if let Some(result) = turns.end(made).await? {
                return Ok(result);
            }
        }
    }

    /// The same of a write that need not be a transaction. It is `None` where these documents are contended: where its transaction
    /// has met those of other processes [this often](CONFLICTS), or another one of this process has a moment ago.
    ///
    /// # Errors
    /// As [`transaction`](Odm::transaction).
    pub(crate) async fn unless_contended<R, F, Fut>(
        &self,
        documents: Vec<QueueKey>,
        work: F,
    ) -> Result<Option<R>>
    where
        F: Fn(Tx) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        if self.queue().is_contended(&documents) {
            return Ok(None);
        }
        let mut turns = InTurn::new(self, documents, Some(CONFLICTS)).await?;
        loop {
            if turns.are_contended() {
                return Ok(None);
            }
            let tx = turns.begin().await?;
            let made = work(tx).await;
            if let Some(result) = turns.end(made).await? {
                return Ok(Some(result));
            }
        }
    }
}

/// How often a transaction meets others before its documents are contended.
const CONFLICTS: usize = 3;

/// A transaction of the library's own, with its turns.
struct InTurn<'o> {
    odm: &'o Odm,
    documents: Vec<QueueKey>,
    turns: Option<Turns<'o>>,
    run: Run,
    began: Instant,
    /// How often it may still meet others, if that is limited.
    left: Option<usize>,
}

impl<'o> InTurn<'o> {
    fn new(
        odm: &'o Odm,
        documents: Vec<QueueKey>,
        conflicts: Option<usize>,
    ) -> BoxFuture<'o, Result<InTurn<'o>>> {
        async move {
            let turns = odm.queue().turns(&documents).await;
            Ok(InTurn {
                odm,
                turns: Some(turns),
                documents,
                run: Run::new(odm).await?,
                began: Instant::now(),
                left: conflicts,
            })
        }
        .boxed()
    }

    fn are_contended(&self) -> bool {
        self.left == Some(0) || self.odm.queue().is_contended(&self.documents)
    }

    async fn begin(&mut self) -> Result<Tx> {
        self.began = Instant::now();
        self.run.begin().await
    }

    /// Ends one attempt. Without a result it has waited for the next one, if there is one.
    async fn end<R>(&mut self, made: Result<R>) -> Result<Option<R>> {
        let result = self.run.end(made).await?;
        match result.is_some() {
            true => self.odm.queue().took(self.began.elapsed()),
            false => self.wait().boxed().await,
        }
        Ok(result)
    }

    async fn wait(&mut self) {
        let queue = self.odm.queue();
        let met = std::mem::take(&mut self.run.met);
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.left == Some(0) {
            match met.is_empty() {
                true => queue.contend(&self.documents),
                false => queue.contend(&met),
            }
            return;
        }
        let known = self.documents.len();
        for one in met {
            if !self.documents.contains(&one) {
                self.documents.push(one);
            }
        }
        if self.documents.len() == known {
            return tokio::time::sleep(queue.pause()).await;
        }
        // All of them anew, in the order of all operations.
        self.turns = None;
        let waits = Instant::now();
        self.turns = Some(queue.turns(&self.documents).await);
        self.run.started += waits.elapsed();
    }
}

/// A transaction that may be run several times.
struct Run {
    tx: Tx,
    started: Instant,
    /// The pause before it is run again.
    pause: Duration,
    races: usize,
    /// Whether the server had refused a `bulkWrite` before this time.
    was_refused: bool,
    /// Where the last attempt has met another transaction, if that is known.
    met: Vec<QueueKey>,
}

impl Run {
    fn new(odm: &Odm) -> BoxFuture<'_, Result<Run>> {
        async move {
            let server = odm.server().await?;
            if !server.has_transactions() {
                return Err(Error::Unsupported {
                    operation: "a transaction",
                    needs: "a replica set or a sharded cluster",
                    is: server.to_string(),
                });
            }
            let session = odm.database().client().start_session().await?;
            Ok(Run {
                tx: Tx {
                    odm: odm.clone(),
                    session: Shared::new(session),
                },
                started: Instant::now(),
                pause: FIRST_PAUSE,
                races: 0,
                was_refused: false,
                met: Vec::new(),
            })
        }
        .boxed()
    }

    fn begin(&mut self) -> BoxFuture<'_, Result<Tx>> {
        async move {
            let options = TransactionOptions::builder()
                .read_concern(ReadConcern::snapshot())
                .write_concern(WriteConcern::majority())
                // Else it would be the client's, and a transaction is refused where that is another.
                .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
                .build();
            let tx = &self.tx;
            tx.session()
                .await
                .start_transaction()
                .with_options(options)
                .await?;
            *tx.session.end() = End::default();
            self.was_refused = tx.odm.bulk_write().is_refused();
            Ok(tx.clone())
        }
        .boxed()
    }

    /// Commits the transaction, or rolls it back after the error of its work. Without a result it is to be run again.
    async fn end<R>(&mut self, made: Result<R>) -> Result<Option<R>> {
        let (result, error) = match made {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        match self.is_committed(error).await? {
            true => Ok(result),
            false => Ok(None),
        }
    }

    /// The same after this error. Gives whether the transaction is committed.
    fn is_committed(&mut self, error: Option<Error>) -> BoxFuture<'_, Result<bool>> {
        async move {
            let tx = &self.tx;
            let end = std::mem::take(&mut *tx.session.end());
            self.met = end.met;
            let dropped = || spoiled("its future was dropped before it completed");
            let (error, again) = match (error, end.spoiled) {
                (None, None) if end.dropped => (Some(dropped()), false),
                (None, Some((error, again))) => (Some(spoiled(&error)), again),
                // An error that was passed over has ended it, so what came after it failed for that alone.
                (Some(later), Some((error, false))) if later.is_transient_transaction_error() => {
                    (Some(spoiled(&error)), false)
                }
                (error, _) => (error, false),
            };
            match error {
                None => match tx.commit(self.started).await {
                    Ok(()) => {
                        after_commit::after_commit(&tx.odm, end.after).await?;
                        return Ok(true);
                    }
                    Err(error)
                        if error.is_transient_transaction_error() && self.started.elapsed() < RETRY_FOR => {}
                    Err(error) => return Err(error),
                },
                Some(error) => {
                    // The server may have ended it already; whatever it says to the abort, `error` is what happened.
                    let aborted = tx.session().await.abort_transaction().await;
                    if let Err(second) = aborted {
                        tracing::debug!(error = %crate::error::Told(&second), "aborting a failed transaction failed");
                    }
                    // Once, without it.
                    let is_refused = !self.was_refused && tx.odm.bulk_write().is_refused();
                    self.races += usize::from(end.raced);
                    let raced = end.raced && self.races <= crate::plan::upsert::REPEATS;
                    let again = again || error.is_transient_transaction_error() || is_refused || raced;
                    if !(again && self.started.elapsed() < RETRY_FOR) {
                        return Err(error);
                    }
                }
            }
            tracing::debug!("retrying a transaction after a transient error");
            Ok(false)
        }
        .boxed()
    }

    /// Waits before the transaction is run again.
    async fn pause(&mut self) {
        tokio::time::sleep(at_random(self.pause)).await;
        self.pause = LONGEST_PAUSE.min(self.pause * 3 / 2);
    }
}

fn spoiled(error: &str) -> Error {
    Error::application(format!(
        "an operation of the transaction failed, so the transaction was rolled back: {error}"
    ))
}

impl Tx {
    pub(crate) fn odm(&self) -> &Odm {
        &self.odm
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.session
    }

    async fn commit(&self, started: Instant) -> Result<()> {
        loop {
            let error = match self.session().await.commit_transaction().await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let unknown = error.contains_label(mongodb::error::UNKNOWN_TRANSACTION_COMMIT_RESULT);
            // Code 50 is MaxTimeMSExpired: the specification does not repeat a commit that ran into a limit of its own.
            let expired =
                matches!(&*error.kind, mongodb::error::ErrorKind::Command(command) if command.code == 50);
            if !unknown || expired || started.elapsed() >= RETRY_FOR {
                return Err(error.into());
            }
        }
    }
}
