//! Runs transactions, by the driver's rules for retrying them.

use crate::Error;
use crate::Odm;
use crate::Result;
use crate::engine::after_commit;
use crate::engine::after_commit::AfterCommit;
use crate::engine::apply;
use crate::engine::remove::Later;
use crate::error::driver::DriverText;
use crate::rules::exists::Recheck;
use crate::rules::pending;
use futures::future::{BoxFuture, FutureExt};
use mongodb::options::{ReadConcern, ReadPreference, SelectionCriteria, TransactionOptions, WriteConcern};
use std::time::{Duration, Instant};

use crate::store::session::End;
pub(crate) use crate::store::session::{Shared, Turn};

/// How long a transaction is tried again: the drivers' limit. Source:
/// <https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md>
const RETRY_FOR: Duration = Duration::from_secs(120);

/// The pause before a transaction is run again, which grows by half each time up to half a second: the same specification.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

impl Shared {
    /// Asks once more, after the commit, whether the targets of what was written are still there.
    pub(crate) fn at_the_end(&self, recheck: Recheck) {
        self.after_commit(|after: &mut AfterCommit| after.written.push(recheck));
    }

    /// Registers pending work of this collection's documents with this token, to be applied after the commit.
    pub(crate) fn add_pending(
        &self,
        meta: &'static crate::model::document::DocumentMeta,
        token: pending::Token,
    ) {
        self.after_commit(|after: &mut AfterCommit| after.left.add(meta, token));
    }

    /// Registers all this work, to be applied after the commit.
    pub(crate) fn leave(&self, deferred: apply::DeferredWork) {
        self.after_commit(|after: &mut AfterCommit| after.left.add_all(deferred));
    }

    /// Looks once more, after the commit, whether something refers to what was deleted.
    pub(crate) fn look_at_the_end(&self, deleted: Vec<Later>) {
        self.after_commit(|after: &mut AfterCommit| after.deleted.extend(deleted));
    }
}

/// Executes `work` as one transaction, and again where that may succeed.
pub(crate) async fn transaction<R, F, Fut>(odm: &Odm, work: F) -> Result<R>
where
    F: Fn(Shared) -> Fut,
    Fut: Future<Output = Result<R>>,
{
    let mut run = Run::new(odm).await?;
    loop {
        let session = run.begin().await?;
        let (result, error) = match work(session).await {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        if run.end(error).await?
            && let Some(result) = result
        {
            return Ok(result);
        }
    }
}

/// A transaction that may be run several times.
struct Run {
    odm: Odm,
    session: Shared,
    started: Instant,
    /// The pause before it is run again.
    pause: Duration,
    races: usize,
    /// Whether the server had refused a `bulkWrite` before this time.
    was_refused: bool,
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
                odm: odm.clone(),
                session: Shared::new(session),
                started: Instant::now(),
                pause: FIRST_PAUSE,
                races: 0,
                was_refused: false,
            })
        }
        .boxed()
    }

    fn begin(&mut self) -> BoxFuture<'_, Result<Shared>> {
        async move {
            let options = TransactionOptions::builder()
                .read_concern(ReadConcern::snapshot())
                .write_concern(WriteConcern::majority())
                // Else it would be the client's, and a transaction is refused where that is another.
                .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
                .build();
            self.session
                .lock()
                .await
                .start_transaction()
                .with_options(options)
                .await?;
            *self.session.end() = End::default();
            self.was_refused = self.odm.bulk_write().is_refused();
            Ok(self.session.clone())
        }
        .boxed()
    }

    /// Commits the transaction, or rolls it back after the error of its work. Gives whether it is committed; otherwise it is to
    /// be run again.
    fn end(&mut self, error: Option<Error>) -> BoxFuture<'_, Result<bool>> {
        async move {
            let mut end = std::mem::take(&mut *self.session.end());
            let after = end.take_after();
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
                None => match commit(&self.session, self.started).await {
                    Ok(()) => {
                        after_commit::after_commit(&self.odm, after).await?;
                        return Ok(true);
                    }
                    Err(error)
                        if error.is_transient_transaction_error() && self.started.elapsed() < RETRY_FOR => {}
                    Err(error) => return Err(error),
                },
                Some(error) => {
                    // The server may have ended it already; whatever it says to the abort, `error` is what happened.
                    let aborted = self.session.lock().await.abort_transaction().await;
                    if let Err(second) = aborted {
                        tracing::debug!(error = %DriverText(&second), "aborting a failed transaction failed");
                    }
                    // Once, without it.
                    let is_refused = !self.was_refused && self.odm.bulk_write().is_refused();
                    self.races += usize::from(end.raced);
                    let raced = end.raced && self.races <= crate::plan::upsert::REPEATS;
                    let again = again || error.is_transient_transaction_error() || is_refused || raced;
                    if !(again && self.started.elapsed() < RETRY_FOR) {
                        return Err(error);
                    }
                }
            }
            tracing::debug!("retrying a transaction after a transient error");
            tokio::time::sleep(self.pause).await;
            self.pause = LONGEST_PAUSE.min(self.pause * 3 / 2);
            Ok(false)
        }
        .boxed()
    }
}

fn spoiled(error: &str) -> Error {
    Error::application(format!(
        "an operation of the transaction failed, so the transaction was rolled back: {error}"
    ))
}

async fn commit(session: &Shared, started: Instant) -> Result<()> {
    loop {
        let error = match session.lock().await.commit_transaction().await {
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
