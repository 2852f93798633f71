//! Runs transactions, by the driver's rules for retrying them.

use crate::error::driver::DriverText;
use crate::store::cx::Cx;
use crate::store::options::raised;
use crate::store::queue::{QueueKey, Turns, at_random};
use crate::store::tasks::OwnedCommand;
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::ClientSession;
use mongodb::bson::Document;
use mongodb::options::{ReadConcern, ReadPreference, SelectionCriteria, TransactionOptions, WriteConcern};
use std::time::{Duration, Instant};

pub(crate) use crate::store::session::{Session, Turn};

/// How long a transaction is tried again: the drivers' limit. Source:
/// <https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md>
const RETRY_FOR: Duration = Duration::from_secs(120);

/// The longest pause before a transaction of the application is run again, which grows by half each time up to half a second: the
/// same specification.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How often an upsert that was refused for a document with the values of its condition is sent again.
pub(crate) const REPEATS: usize = 5;

tokio::task_local! {
    /// Set while a task executes the work of a transaction, which has a session of the driver until it has ended.
    static WITHIN: ();
}

/// Whether this is awaited by the work of a transaction, or by a hook of it.
pub(crate) fn is_within() -> bool {
    WITHIN.try_with(|()| ()).is_ok()
}

/// Executes `work` as one transaction, and again where that may succeed. The trace of an operation counts the commands that end it.
pub(crate) async fn transaction<R, F, Fut>(odm: &Odm, trace: Option<&Trace>, work: F) -> Result<R>
where
    F: Fn(Session) -> Fut,
    Fut: Future<Output = Result<R>>,
{
    Run::new(odm, trace).await?.until_done(work).await
}

/// A session for several transactions, one after the other: by its id, another process ends the one that is open.
pub(crate) struct OneSession(Run);

impl OneSession {
    /// # Errors
    /// Where the server has no transactions.
    pub(crate) async fn new(odm: &Odm) -> Result<OneSession> {
        Ok(OneSession(Run::new(odm, None).await?))
    }

    /// The id by which the server knows it.
    pub(crate) async fn id(&self) -> Document {
        self.0.session.lock_to_end().await.id().clone()
    }

    /// As [`transaction`].
    pub(crate) async fn transaction<R, F, Fut>(&mut self, trace: &Trace, work: F) -> Result<R>
    where
        F: Fn(Session) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        self.prepare(trace).await;
        self.0.until_done(work).await
    }

    /// The same once: `None` where it may be run again, after a short pause. It has met another transaction, for example.
    pub(crate) async fn attempt<R, F, Fut>(&mut self, trace: &Trace, work: F) -> Result<Option<R>>
    where
        F: Fn(Session) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        self.prepare(trace).await;
        let made = self.0.attempt(&work).await?;
        if made.is_none() {
            self.0.pause().await;
        }
        Ok(made)
    }

    async fn prepare(&mut self, trace: &Trace) {
        let run = &mut self.0;
        // The future of the one before may have been dropped.
        if run.is_open {
            run.abort().await;
        }
        run.session = run.session.renewed(run.odm.tasks());
        run.trace = Some(trace.clone());
        (run.started, run.pause, run.races) = (Instant::now(), FIRST_PAUSE, 0);
    }
}

/// A transaction of the library's own, which will write these documents, as far as that is known. It takes turns with the others
/// of this process: those that write one of them would only abort each other. Between its attempts it keeps its turns, and waits
/// about as long as another process's transaction takes. Its time begins with its turn.
///
/// # Errors
/// As [`transaction`].
pub(crate) async fn take_turns<R, F, Fut>(cx: Cx<'_>, documents: Vec<QueueKey>, work: F) -> Result<R>
where
    F: Fn(Session) -> Fut,
    Fut: Future<Output = Result<R>>,
{
    let mut turns = InTurn::new(cx, documents, None).await?;
    loop {
        let session = turns.begin().await?;
        let made = WITHIN.scope((), work(session)).await;
        if let Some(result) = turns.commit_or_abort(made).await? {
            return Ok(result);
        }
    }
}

/// The same of a write that need not be a transaction. It is `None` where these documents are contended: where its transaction
/// has met those of other processes [this often](CONFLICTS), or another one of this process has a moment ago.
///
/// # Errors
/// As [`transaction`].
pub(crate) async fn unless_contended<R, F, Fut>(
    cx: Cx<'_>,
    documents: Vec<QueueKey>,
    work: F,
) -> Result<Option<R>>
where
    F: Fn(Session) -> Fut,
    Fut: Future<Output = Result<R>>,
{
    if cx.odm.queue().is_contended(&documents) {
        return Ok(None);
    }
    let mut turns = InTurn::new(cx, documents, Some(CONFLICTS)).await?;
    loop {
        if turns.are_contended() {
            return Ok(None);
        }
        let session = turns.begin().await?;
        let made = WITHIN.scope((), work(session)).await;
        if let Some(result) = turns.commit_or_abort(made).await? {
            return Ok(Some(result));
        }
    }
}

/// How often a transaction meets others before its documents are contended.
const CONFLICTS: usize = 3;

/// A transaction of the library's own, with its turns.
struct InTurn<'o> {
    odm: &'o Odm,
    documents: Vec<QueueKey>,
    run: Run,
    began: Instant,
    /// How often it may still meet others, if that is limited.
    left: Option<usize>,
}

impl<'o> InTurn<'o> {
    fn new(
        cx: Cx<'o>,
        documents: Vec<QueueKey>,
        conflicts: Option<usize>,
    ) -> BoxFuture<'o, Result<InTurn<'o>>> {
        async move {
            let odm = cx.odm;
            let turns = odm.queue().turns(&documents).await;
            let mut run = Run::new(odm, Some(cx.trace)).await?;
            run.turns = Some(turns);
            Ok(InTurn {
                odm,
                documents,
                run,
                began: Instant::now(),
                left: conflicts,
            })
        }
        .boxed()
    }

    fn are_contended(&self) -> bool {
        self.left == Some(0) || self.odm.queue().is_contended(&self.documents)
    }

    async fn begin(&mut self) -> Result<Session> {
        self.began = Instant::now();
        self.run.begin().await
    }

    /// Ends one attempt. Without a result it has waited for the next one, if there is one.
    async fn commit_or_abort<R>(&mut self, made: Result<R>) -> Result<Option<R>> {
        let result = self.run.commit_or_abort(made).await?;
        if result.is_some() {
            self.odm.queue().took(self.began.elapsed())
        } else {
            self.wait().boxed().await
        }
        Ok(result)
    }

    async fn wait(&mut self) {
        let queue = self.odm.queue();
        let met = std::mem::take(&mut self.run.met);
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.left == Some(0) {
            if met.is_empty() {
                queue.contend(&self.documents)
            } else {
                queue.contend(&met)
            }
            return;
        }
        // It may have met a transaction whose future was dropped, which is being rolled back.
        if self.odm.tasks().end_within(LONGEST_PAUSE).await {
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
        self.run.turns = None;
        let waits = Instant::now();
        self.run.turns = Some(queue.turns(&self.documents).await);
        self.run.started += waits.elapsed();
    }
}

/// A transaction that may be run several times. One that is dropped before its end is rolled back: see `Drop`.
struct Run {
    odm: Odm,
    /// Counts the commands that end it, where it belongs to one operation.
    trace: Option<Trace>,
    session: Session,
    /// Whether the transaction has begun, and nothing ends it yet.
    is_open: bool,
    /// Its turns at the documents that it writes.
    turns: Option<Turns>,
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
    fn new<'o>(odm: &'o Odm, trace: Option<&'o Trace>) -> BoxFuture<'o, Result<Run>> {
        async move {
            let server = odm.server().await?;
            if !server.has_transactions() {
                return Err(Error::Unsupported {
                    operation: "a transaction",
                    needs: "a replica set or a sharded cluster",
                    is: server.to_string(),
                });
            }
            let session = odm.begin_session().await?;
            Ok(Run::with(odm, trace.cloned(), session))
        }
        .boxed()
    }

    fn with(odm: &Odm, trace: Option<Trace>, session: ClientSession) -> Run {
        Run {
            odm: odm.clone(),
            trace,
            session: Session::new(session, odm.tasks()),
            is_open: false,
            turns: None,
            started: Instant::now(),
            pause: FIRST_PAUSE,
            races: 0,
            was_refused: false,
            met: Vec::new(),
        }
    }

    fn begin(&mut self) -> BoxFuture<'_, Result<Session>> {
        async move {
            let options = self.odm.options();
            let concern = options.and_then(|options| options.write_concern.as_ref());
            let options = TransactionOptions::builder()
                .read_concern(ReadConcern::snapshot())
                .write_concern(concern.map_or_else(WriteConcern::majority, raised))
                .max_commit_time(options.and_then(|options| options.max_time))
                // Else it would be the client's, and a transaction is refused where that is another.
                .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
                .build();
            let mut session = self.session.lock_to_end().await;
            session.start_transaction().with_options(options).await?;
            drop(session);
            self.is_open = true;
            self.session.begin();
            self.was_refused = self.odm.bulk_write().is_refused();
            Ok(self.session.clone())
        }
        .boxed()
    }

    async fn until_done<R, F, Fut>(&mut self, work: F) -> Result<R>
    where
        F: Fn(Session) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        loop {
            if let Some(result) = self.attempt(&work).await? {
                return Ok(result);
            }
            self.pause().await;
        }
    }

    /// Executes the transaction once. Without a result it is to be run again.
    async fn attempt<R, F, Fut>(&mut self, work: &F) -> Result<Option<R>>
    where
        F: Fn(Session) -> Fut,
        Fut: Future<Output = Result<R>>,
    {
        let session = self.begin().await?;
        let made = WITHIN.scope((), work(session)).await;
        self.commit_or_abort(made).await
    }

    /// Commits the transaction, or rolls it back after the error of its work. Without a result it is to be run again.
    async fn commit_or_abort<R>(&mut self, made: Result<R>) -> Result<Option<R>> {
        let (result, error) = match made {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        if self.is_committed(error).await? {
            Ok(result)
        } else {
            Ok(None)
        }
    }

    /// The same after this error. Gives whether the transaction is committed.
    fn is_committed(&mut self, error: Option<Error>) -> BoxFuture<'_, Result<bool>> {
        async move {
            let mut end = std::mem::take(&mut *self.session.state());
            let after = end.take_after();
            self.met = std::mem::take(&mut end.met);
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
                None => match self.commit().await {
                    Ok(()) => {
                        if let Some(after) = after {
                            let after = after.run(&self.odm, self.session.routes());
                            let (round_trips, ended) = WITHIN.scope((), after).await;
                            self.trace.iter().for_each(|trace| trace.trips(round_trips));
                            ended?;
                        }
                        return Ok(true);
                    }
                    Err(error)
                        if error.is_transient_transaction_error() && self.started.elapsed() < RETRY_FOR => {}
                    Err(error) => return Err(error),
                },
                Some(error) => {
                    // The server may have ended it already; whatever it says to the abort, `error` is what happened.
                    self.abort().await;
                    // Once, without it.
                    let is_refused = !self.was_refused && self.odm.bulk_write().is_refused();
                    self.races += usize::from(end.raced);
                    let raced = end.raced && self.races <= REPEATS;
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

    /// Commits the transaction. Once the commit is sent, it is sent until its result is known, also where this future is dropped.
    /// It gives up its turns: what follows a commit may be transactions of their own at the same documents.
    async fn commit(&mut self) -> Result<()> {
        let mut session = self.session.lock_to_end().await;
        let (started, odm, turns) = (self.started, self.odm.clone(), self.turns.take());
        let trace = self.counted();
        let commit = async move {
            let committed = commit(&mut session, started, trace).await;
            // One that is not acknowledged may have been made.
            odm.committed(&session);
            if let (Ok(()), Some(clock)) = (&committed, odm.clock()) {
                clock.advance(&session);
            }
            (committed, turns)
        };
        self.is_open = false;
        let (committed, turns) = OwnedCommand::new(Some(self.session.background()), commit).await;
        if committed.is_err() {
            self.turns = turns;
        }
        committed
    }

    /// Rolls the transaction back, also where this future is dropped.
    async fn abort(&mut self) {
        let mut session = self.session.lock_to_end().await;
        let turns = self.turns.take();
        self.counted().iter().for_each(Trace::trip);
        let abort = async move {
            abort(&mut session).await;
            turns
        };
        self.is_open = false;
        self.turns = OwnedCommand::new(Some(self.session.background()), abort).await;
    }

    /// The trace that counts the command which ends the transaction. The driver sends none where it has sent no other command of it.
    fn counted(&self) -> Option<Trace> {
        self.trace.clone().filter(|_| self.session.has_begun())
    }

    /// Waits before the transaction is run again.
    async fn pause(&mut self) {
        if self.odm.tasks().end_within(LONGEST_PAUSE).await {
            return;
        }
        tokio::time::sleep(at_random(self.pause)).await;
        self.pause = LONGEST_PAUSE.min(self.pause * 3 / 2);
    }
}

fn spoiled(error: &str) -> Error {
    Error::application(format!(
        "an operation of the transaction failed, so the transaction was rolled back: {error}"
    ))
}

/// The future of the transaction was dropped, or its work has panicked. From now on no command of it is sent. The reply of the one
/// that is under way is awaited, and then the transaction is rolled back, and gives its turns to the next one.
impl Drop for Run {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        self.session.close();
        let (session, turns) = (self.session.clone(), self.turns.take());
        self.session.background().spawn(async move {
            let mut locked = session.lock_to_end().await;
            abort(&mut locked).await;
            drop((locked, turns));
        });
    }
}

async fn abort(session: &mut ClientSession) {
    if let Err(error) = session.abort_transaction().await {
        tracing::debug!(error = %DriverText(&error), "aborting a failed transaction failed");
    }
}

async fn commit(session: &mut ClientSession, started: Instant, trace: Option<Trace>) -> Result<()> {
    loop {
        trace.iter().for_each(Trace::trip);
        let error = match session.commit_transaction().await {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::routes::Routes;
    use crate::store::session::AfterCommit;
    use crate::store::tasks::Background;
    use mongodb::Client;
    use mongodb::options::ClientOptions;
    use std::sync::Arc;

    /// A handle and a session, by which nothing is sent.
    async fn unused() -> (Odm, ClientSession) {
        let client = Client::with_options(ClientOptions::default()).expect("a client");
        let odm = Odm::new(client.database("unused"), []).expect("no models");
        (odm, client.start_session().await.expect("a session"))
    }

    #[derive(Default)]
    struct First(u32);

    #[derive(Default)]
    struct Second;

    impl AfterCommit for First {
        fn run(self: Box<Self>, _: &Odm, _: Arc<Routes>) -> BoxFuture<'_, (u64, Result<()>)> {
            async { (0, Ok(())) }.boxed()
        }
    }

    impl AfterCommit for Second {
        fn run(self: Box<Self>, _: &Odm, _: Arc<Routes>) -> BoxFuture<'_, (u64, Result<()>)> {
            async { (0, Ok(())) }.boxed()
        }
    }

    #[tokio::test]
    async fn work_of_two_types_after_the_commit_keeps_a_transaction_from_being_committed() {
        let (odm, session) = unused().await;
        let mut run = Run::with(&odm, None, session);
        run.session.after_commit(|first: &mut First| first.0 += 1);
        run.session.after_commit(|first: &mut First| first.0 += 1);
        assert!(run.session.state().spoiled.is_none());
        run.session.after_commit(|_: &mut Second| {});
        let error = run.is_committed(None).await.expect_err("it is rolled back");
        assert!(matches!(error, Error::Application(_)), "{error:?}");
        assert!(error.to_string().contains("Second"), "{error}");
    }

    #[tokio::test]
    async fn a_conflict_is_counted_also_while_dropped_transactions_are_rolled_back() {
        let (odm, session) = unused().await;
        let mut turns = InTurn {
            odm: &odm,
            documents: Vec::new(),
            run: Run::with(&odm, None, session),
            began: Instant::now(),
            left: Some(CONFLICTS),
        };
        for conflicts in 1..=CONFLICTS {
            let rolled_back = tokio::time::sleep(Duration::from_millis(5));
            Background::here(odm.tasks()).spawn(rolled_back);
            turns.wait().await;
            assert_eq!(turns.left, Some(CONFLICTS - conflicts));
        }
        assert!(turns.are_contended());
    }
}
