//! How copies are delivered to many documents.

use mongodb::bson::Bson;
use std::sync::Arc;
use std::time::Duration;

/// How a change of a source updates its copies in many documents: see [`Odm::with_fan_out`](crate::Odm::with_fan_out).
///
/// ```
/// use odm::references::FanOut;
/// use std::time::Duration;
///
/// let gentle = FanOut::new().batch(1_000).pause(Duration::from_millis(50)).progress(|progress| {
///     eprintln!("{}: {} documents", progress.collection, progress.changed);
/// });
/// ```
#[derive(Clone)]
pub struct FanOut {
    pub(crate) in_transaction: usize,
    pub(crate) batch: usize,
    pub(crate) pause: Duration,
    pub(crate) progress: Option<Callback>,
}

/// The callback that receives the progress of a fan-out.
type Callback = Arc<dyn Fn(&Progress) + Send + Sync>;

/// The default of [`FanOut::in_transaction`].
const IN_TRANSACTION: usize = 1_000;

/// The default of [`FanOut::batch`].
const BATCH: usize = 10_000;

impl FanOut {
    /// At most 1,000 documents are updated in one transaction with the source; more are updated after it, in batches of 10,000
    /// without a pause, two of them at once.
    pub fn new() -> FanOut {
        FanOut {
            in_transaction: IN_TRANSACTION,
            batch: BATCH,
            pause: Duration::ZERO,
            progress: None,
        }
    }

    /// Whether copies are delivered in the same way.
    pub(crate) fn is_same(&self, other: &FanOut) -> bool {
        let is_told = match (&self.progress, &other.progress) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let numbers = |of: &FanOut| (of.in_transaction, of.batch, of.pause);
        is_told && numbers(self) == numbers(other)
    }

    /// A source with at most this number of holders is changed in one transaction with their copies, where the deployment has
    /// transactions; with more holders, or with any if this is 0, the copies are updated after the commit. Copies that are
    /// declared `consistency = atomic` are always updated in the transaction, and `eventual` ones never.
    ///
    /// A transaction blocks every other writer of the documents that it has changed, and the server ends it after a minute.
    pub fn in_transaction(mut self, documents: usize) -> FanOut {
        // One more is asked for, of which the driver asks for one more, and it takes no greater number.
        self.in_transaction = documents.min(i32::MAX as usize - 2);
        self
    }

    /// The number of documents that one command changes.
    pub fn batch(mut self, documents: usize) -> FanOut {
        self.batch = documents.max(1);
        self
    }

    /// Waits for this time after each batch, so that other writers get their turn; there is one batch at a time then.
    pub fn pause(mut self, pause: Duration) -> FanOut {
        self.pause = pause;
        self
    }

    /// Calls this after each batch. It should return soon: the fan-out waits for it.
    pub fn progress(mut self, tell: impl Fn(&Progress) + Send + Sync + 'static) -> FanOut {
        self.progress = Some(Arc::new(tell));
        self
    }
}

impl Default for FanOut {
    fn default() -> Self {
        FanOut::new()
    }
}

impl std::fmt::Debug for FanOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FanOut")
            .field("in_transaction", &self.in_transaction)
            .field("batch", &self.batch)
            .field("pause", &self.pause)
            .finish_non_exhaustive()
    }
}

/// The progress of a fan-out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The collection that holds the copies.
    pub collection: &'static str,
    /// The reference that they are taken through: its dotted name.
    pub field: String,
    /// The id of the source, by which the holders refer to it.
    pub source: Bson,
    /// How many documents were changed so far.
    pub changed: u64,
    /// In how many commands that was.
    pub batches: u64,
}
