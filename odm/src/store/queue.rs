//! The queue of one process at each document.
//!
//! Two transactions that write one document conflict: the server aborts one of them, and all that it has done is done again. In one
//! process such transactions take turns instead. An operation asks for the turns at all documents that it will write, as far as it
//! knows them, and gives them back after its commit. This is for speed alone. Nothing depends on it for its correctness: other
//! processes don't see the queue, and the application's transactions don't wait in it.
//!
//! - Turns are given in the order in which operations ask for them.
//! - All operations ask in the order of the documents, each for all of its turns before it does anything else. So no two operations
//!   wait for each other.
//! - A future that is dropped while it waits, or while it has the turn, lets the next one on.
//! - A document has an entry while an operation has the turn at it or waits for it.

use crate::model::key::Key;
use mongodb::bson::oid::ObjectId;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// A document that an operation will write: its collection, a field whose value names it, and that value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueKey {
    pub(crate) collection: &'static str,
    pub(crate) by: &'static str,
    pub(crate) key: Key,
}

/// The operations at one document.
#[derive(Default)]
struct QueueEntry {
    /// How many have the turn or wait for it.
    operations: usize,
    turn: Arc<Mutex<()>>,
    /// The pending work that these operations have recorded, and that none of them has applied.
    pending: Vec<PendingWork>,
}

/// Pending work in the documents of a collection, by its token. Operations at one document may record theirs in several collections:
/// an insert of a book in the book, where it takes its turn at the author, and an update of the author in the author.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PendingWork {
    collection: &'static str,
    token: ObjectId,
}

/// How long transactions take, before one has ended.
const FIRST: Duration = Duration::from_millis(5);

/// The pause before a transaction is run again takes at most the time of this number of transactions. With eight processes at one
/// document a transaction then meets others less than once on average; with a pause of one transaction's time, twice.
const PAUSE: u32 = 4;

/// The longest pause before a transaction is run again.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long a document stays contended.
const CONTENDED: Duration = Duration::from_secs(1);

/// Maximum number of documents that are known to be contended.
const MOST_CONTENDED: usize = 64;

/// The queues of the documents of one database.
#[derive(Default)]
pub(crate) struct Queue {
    entries: std::sync::Mutex<HashMap<QueueKey, QueueEntry, ahash::RandomState>>,
    /// How long the latest transactions took on average, in microseconds; 0 before the first one.
    usual: AtomicU64,
    /// The documents at which transactions have met those of other processes again and again, each with the end of that.
    contended: std::sync::Mutex<Vec<(QueueKey, Instant)>>,
}

/// An operation in the queue of a document.
struct QueueWaiting {
    queue: Arc<Queue>,
    key: QueueKey,
}

impl Drop for QueueWaiting {
    fn drop(&mut self) {
        let mut entries = self.queue.entries();
        if let Some(entry) = entries.get_mut(&self.key) {
            entry.operations -= 1;
            if entry.operations == 0 {
                entries.remove(&self.key);
            }
        }
    }
}

/// The turn at one document. The next one gets it before the entry may go.
struct TurnAtDocument {
    _turn: OwnedMutexGuard<()>,
    _waiting: QueueWaiting,
}

/// Pending work that an operation has recorded, while others at the same document may apply it.
pub(crate) struct QueuedWork {
    waiting: QueueWaiting,
    turn: Arc<Mutex<()>>,
    work: PendingWork,
}

impl Drop for QueuedWork {
    fn drop(&mut self) {
        self.applied(&[self.work.token]);
    }
}

impl QueuedWork {
    /// Waits for the turn to apply pending work at the document, and gives the tokens of all that is left there by then in the same
    /// collection: none where another operation has applied that of this one.
    pub(crate) async fn turn(&self) -> (OwnedMutexGuard<()>, Vec<ObjectId>) {
        let turn = self.turn.clone().lock_owned().await;
        let entries = self.waiting.queue.entries();
        let pending = entries.get(&self.waiting.key).map(|entry| &entry.pending);
        let pending = pending.filter(|pending| pending.contains(&self.work));
        let tokens = pending.into_iter().flatten();
        let tokens = tokens.filter(|work| work.collection == self.work.collection);
        (turn, tokens.map(|work| work.token).collect())
    }

    /// Nothing of this work is left.
    pub(crate) fn applied(&self, tokens: &[ObjectId]) {
        let mut entries = self.waiting.queue.entries();
        if let Some(entry) = entries.get_mut(&self.waiting.key) {
            let is_applied =
                |work: &PendingWork| work.collection == self.work.collection && tokens.contains(&work.token);
            entry.pending.retain(|work| !is_applied(work));
        }
    }
}

/// The turns of one operation.
pub(crate) struct Turns {
    _turns: Vec<TurnAtDocument>,
}

impl Queue {
    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<QueueKey, QueueEntry, ahash::RandomState>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turns at these documents.
    pub(crate) async fn turns(self: &Arc<Self>, keys: &[QueueKey]) -> Turns {
        let mut keys: Vec<&QueueKey> = keys.iter().collect();
        keys.sort_unstable();
        keys.dedup();
        let mut turns = Vec::with_capacity(keys.len());
        for key in keys {
            let (waiting, turn) = self.wait(key);
            turns.push(TurnAtDocument {
                _turn: turn.lock_owned().await,
                _waiting: waiting,
            });
        }
        Turns { _turns: turns }
    }

    fn wait(self: &Arc<Self>, key: &QueueKey) -> (QueueWaiting, Arc<Mutex<()>>) {
        let mut entries = self.entries();
        let entry = entries.entry(key.clone()).or_default();
        entry.operations += 1;
        let waiting = QueueWaiting {
            queue: self.clone(),
            key: key.clone(),
        };
        (waiting, entry.turn.clone())
    }

    /// Says that an operation has recorded pending work at this document. Several operations do so at the same time where they don't
    /// wait for each other: the first that has its turn applies the work of all.
    pub(crate) fn register(
        self: &Arc<Self>,
        key: &QueueKey,
        collection: &'static str,
        token: ObjectId,
    ) -> QueuedWork {
        let (waiting, turn) = self.wait(key);
        let work = PendingWork { collection, token };
        if let Some(entry) = self.entries().get_mut(key) {
            entry.pending.push(work);
        }
        QueuedWork { waiting, turn, work }
    }

    /// Transactions that write one of these documents meet those of other processes again and again.
    pub(crate) fn contend<'k>(&self, keys: impl IntoIterator<Item = &'k QueueKey>) {
        let mut contended = self.contended.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        for key in keys {
            contended.retain(|(known, end)| *end > now && known != key);
            if contended.len() == MOST_CONTENDED {
                contended.remove(0);
            }
            contended.push((key.clone(), now + CONTENDED));
        }
    }

    /// Whether that was so a moment ago.
    pub(crate) fn is_contended(&self, keys: &[QueueKey]) -> bool {
        let contended = self.contended.lock().unwrap_or_else(PoisonError::into_inner);
        let is_one = |(known, end): &(QueueKey, Instant)| keys.contains(known) && *end > Instant::now();
        contended.iter().any(is_one)
    }

    /// A transaction took this long, from its beginning to its commit.
    pub(crate) fn took(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        let usual = self.usual.load(Ordering::Relaxed);
        let usual = match usual {
            0 => time,
            usual => usual - usual / 8 + time / 8,
        };
        self.usual.store(usual, Ordering::Relaxed);
    }

    /// The pause before a transaction is run again that has met another one's write, at random up to the time of a few transactions:
    /// until the other one has ended, and at another moment than all others that have met it.
    pub(crate) fn pause(&self) -> Duration {
        let usual = match self.usual.load(Ordering::Relaxed) {
            0 => FIRST,
            usual => Duration::from_micros(usual),
        };
        at_random(LONGEST_PAUSE.min(usual * PAUSE))
    }
}

/// Any time up to this one.
pub(crate) fn at_random(longest: Duration) -> Duration {
    // Each state of the standard library's hasher has keys of its own.
    let random = RandomState::new().build_hasher().finish();
    longest.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::atomic::AtomicUsize;

    fn meter(id: i64) -> QueueKey {
        QueueKey {
            collection: "meters",
            by: "_id",
            key: Key::Int(id),
        }
    }

    #[tokio::test]
    async fn turns_are_given_in_the_order_of_the_questions() {
        let queue = Arc::new(Queue::default());
        let first = queue.turns(&[meter(1)]).await;
        let order = std::sync::Mutex::new(Vec::new());
        let one = async |n: usize| {
            let _turns = queue.turns(&[meter(1)]).await;
            order.lock().expect("the order").push(n);
            tokio::task::yield_now().await;
        };
        let all = futures::future::join_all((0..20).map(one));
        tokio::join!(all, async {
            tokio::task::yield_now().await;
            assert_eq!(queue.entries()[&meter(1)].operations, 21);
            drop(first);
        });
        assert_eq!(*order.lock().expect("the order"), (0..20).collect::<Vec<_>>());
        assert!(queue.entries().is_empty());
    }

    #[tokio::test]
    async fn one_at_a_time_has_the_turn_whatever_others_it_asks_for() {
        let queue = Arc::new(Queue::default());
        let inside: Arc<[AtomicUsize; 4]> = Arc::default();
        let mut tasks = Vec::new();
        for n in 0..200_i64 {
            let (queue, inside) = (queue.clone(), inside.clone());
            tasks.push(tokio::spawn(async move {
                // In both orders, and one of them twice.
                let (a, b) = (n % 4, (n / 4) % 4);
                let turns = queue.turns(&[meter(a), meter(b), meter(a)]).await;
                let at = [a, b].map(|at| usize::try_from(at).expect("a position"));
                let mine = if a == b { &at[..1] } else { &at[..] };
                for at in mine {
                    assert_eq!(inside[*at].fetch_add(1, Ordering::SeqCst), 0);
                }
                tokio::task::yield_now().await;
                for at in mine {
                    inside[*at].fetch_sub(1, Ordering::SeqCst);
                }
                drop(turns);
            }));
        }
        for task in tasks {
            task.await.expect("no task meets another one");
        }
        assert!(queue.entries().is_empty());
    }

    #[tokio::test]
    async fn a_dropped_future_lets_the_next_one_on() {
        let queue = Arc::new(Queue::default());
        let (here, there) = ([meter(1)], [meter(1), meter(2)]);
        let first = queue.turns(&here).await;
        let mut waits = Box::pin(queue.turns(&there));
        let mut last = Box::pin(queue.turns(&here));
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(last.as_mut().now_or_never().is_none());
        // The turn is given to it, and it is dropped before it learns of that.
        drop(first);
        drop(waits);
        let last = last.now_or_never().expect("the turn");
        assert_eq!(queue.entries().len(), 1, "nothing waits at the other document");
        drop(last);
        assert!(queue.entries().is_empty());
    }

    #[tokio::test]
    async fn documents_have_queues_of_their_own() {
        let queue = Arc::new(Queue::default());
        let other = QueueKey {
            collection: "readings",
            ..meter(1)
        };
        let by_name = QueueKey {
            by: "name",
            ..meter(1)
        };
        let all = [[meter(1)], [meter(2)], [other], [by_name]];
        let mut turns = Vec::new();
        for one in &all {
            turns.push(queue.turns(one).now_or_never().expect("the turn"));
        }
        assert_eq!(queue.entries().len(), 4);
        assert!(queue.turns(&[]).now_or_never().is_some());
        drop(turns);
        assert!(queue.entries().is_empty());
    }

    #[tokio::test]
    async fn the_first_at_its_turn_applies_the_work_of_all() {
        let queue = Arc::new(Queue::default());
        let tokens: Vec<ObjectId> = (0..4).map(|_| ObjectId::new()).collect();
        let mut left: Vec<QueuedWork> = tokens
            .iter()
            .map(|token| queue.register(&meter(1), "meters", *token))
            .collect();
        // One that is dropped leaves its work to `recover`.
        drop(left.pop());
        let (turn, of_all) = left[0].turn().await;
        assert_eq!(of_all, tokens[..3]);
        assert!(left[1].turn().now_or_never().is_none(), "it waits");
        // What comes while the first one applies the others' is not a part of it.
        let late = queue.register(&meter(1), "meters", tokens[3]);
        left[0].applied(&of_all);
        drop(turn);
        assert!(left[1].turn().await.1.is_empty());
        assert_eq!(late.turn().await.1, [tokens[3]]);
        // The one that had the turn has failed.
        assert_eq!(late.turn().await.1, [tokens[3]]);
        drop((left, late));
        assert!(queue.entries().is_empty());
    }

    #[tokio::test]
    async fn work_in_another_collection_is_not_applied_with_it() {
        let queue = Arc::new(Queue::default());
        let [of_reading, of_meter] = [ObjectId::new(), ObjectId::new()];
        // An insert takes its turn at the document that it refers to.
        let reading = queue.register(&meter(1), "readings", of_reading);
        let changed_meter = queue.register(&meter(1), "meters", of_meter);
        let (turn, tokens) = reading.turn().await;
        assert_eq!(tokens, [of_reading]);
        reading.applied(&tokens);
        drop(turn);
        assert_eq!(changed_meter.turn().await.1, [of_meter]);
    }

    #[test]
    fn a_document_is_contended_for_a_moment() {
        let queue = Arc::new(Queue::default());
        assert!(!queue.is_contended(&[meter(1)]));
        queue.contend(&[meter(1)]);
        assert!(queue.is_contended(&[meter(2), meter(1)]));
        assert!(!queue.is_contended(&[meter(2)]) && !queue.is_contended(&[]));
        {
            let mut contended = queue.contended.lock().expect("the documents");
            contended.iter_mut().for_each(|(_, end)| *end = Instant::now());
        }
        assert!(!queue.is_contended(&[meter(1)]), "that is over");
        let many: Vec<QueueKey> = (0..200).map(meter).collect();
        queue.contend(&many);
        assert!(queue.is_contended(&[meter(199)]) && queue.is_contended(&[meter(150)]));
        assert!(!queue.is_contended(&[meter(0)]), "the latest ones are known");
        assert_eq!(
            queue.contended.lock().expect("the documents").len(),
            MOST_CONTENDED
        );
    }

    #[test]
    fn pauses_are_as_long_as_a_few_transactions() {
        let queue = Arc::new(Queue::default());
        assert!((0..100).all(|_| queue.pause() < FIRST * PAUSE));
        queue.took(Duration::from_millis(10));
        let pauses: Vec<Duration> = (0..1_000).map(|_| queue.pause()).collect();
        assert!(pauses.iter().all(|pause| *pause < Duration::from_millis(40)));
        assert!(pauses.iter().any(|pause| *pause > Duration::from_millis(30)));
        assert!(pauses.iter().any(|pause| *pause < Duration::from_millis(10)));
        (0..100).for_each(|_| queue.took(Duration::from_secs(60)));
        assert!((0..100).all(|_| queue.pause() <= LONGEST_PAUSE));
        (0..100).for_each(|_| queue.took(Duration::from_millis(2)));
        assert!((0..100).all(|_| queue.pause() < Duration::from_millis(3) * PAUSE));
    }
}
