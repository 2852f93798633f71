//! The queue of one process at each document.
//!
//! Two transactions that write one document conflict: the server aborts one of them, and all that it has done is done again. In one
//! process such transactions take turns instead. An operation asks for the turns at all documents that it will write, as far as it
//! knows them, and gives them back after its commit. This is for speed alone. Nothing depends on it for its correctness: other
//! processes don't see the queue, and the application's transactions don't wait in it.
//!
//! - Turns are given in the order in which they are asked for.
//! - An operation asks for its turns in one order, that of the documents, and for none while it has some: so operations that wait
//!   for each other's turns can't exist.
//! - A future that is dropped while it waits, or while it has the turn, lets the next one on.
//! - A document has an entry while an operation has the turn at it or waits for it.

use crate::model::key::Key;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
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
struct Entry {
    /// How many have the turn or wait for it.
    operations: usize,
    turn: Arc<Mutex<()>>,
}

/// How long transactions take, before one has ended.
const FIRST: Duration = Duration::from_millis(5);

/// The longest pause before a transaction is run again.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The queues of the documents of one database.
#[derive(Default)]
pub(crate) struct Queue {
    entries: std::sync::Mutex<HashMap<QueueKey, Entry, ahash::RandomState>>,
    /// How long the latest transactions took on average, in microseconds; 0 before the first one.
    usual: AtomicU64,
}

/// An operation in the queue of a document.
struct Waiting<'q> {
    queue: &'q Queue,
    key: QueueKey,
}

impl Drop for Waiting<'_> {
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
struct Turn<'q> {
    _turn: OwnedMutexGuard<()>,
    _waiting: Waiting<'q>,
}

/// The turns of one operation.
pub(crate) struct Turns<'q> {
    _turns: Vec<Turn<'q>>,
}

impl Queue {
    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<QueueKey, Entry, ahash::RandomState>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turns at these documents.
    pub(crate) async fn turns(&self, keys: &[QueueKey]) -> Turns<'_> {
        let mut keys: Vec<&QueueKey> = keys.iter().collect();
        keys.sort_unstable();
        keys.dedup();
        let mut turns = Vec::with_capacity(keys.len());
        for key in keys {
            let (waiting, turn) = self.wait(key);
            turns.push(Turn {
                _turn: turn.lock_owned().await,
                _waiting: waiting,
            });
        }
        Turns { _turns: turns }
    }

    fn wait(&self, key: &QueueKey) -> (Waiting<'_>, Arc<Mutex<()>>) {
        let mut entries = self.entries();
        let entry = entries.entry(key.clone()).or_default();
        entry.operations += 1;
        let waiting = Waiting {
            queue: self,
            key: key.clone(),
        };
        (waiting, entry.turn.clone())
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

    /// The pause before a transaction is run again that has met another one's write, at random up to the time of one transaction:
    /// as long as the other one may take, and at another moment than all others that have met it.
    pub(crate) fn pause(&self) -> Duration {
        let usual = match self.usual.load(Ordering::Relaxed) {
            0 => FIRST,
            usual => Duration::from_micros(usual),
        };
        at_random(usual.min(LONGEST_PAUSE))
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
        let queue = Queue::default();
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
        let queue = Queue::default();
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
        let queue = Queue::default();
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

    #[test]
    fn pauses_are_as_long_as_a_transaction() {
        let queue = Queue::default();
        assert!((0..100).all(|_| queue.pause() < FIRST));
        queue.took(Duration::from_millis(40));
        let pauses: Vec<Duration> = (0..1_000).map(|_| queue.pause()).collect();
        assert!(pauses.iter().all(|pause| *pause < Duration::from_millis(40)));
        assert!(pauses.iter().any(|pause| *pause > Duration::from_millis(30)));
        assert!(pauses.iter().any(|pause| *pause < Duration::from_millis(10)));
        (0..100).for_each(|_| queue.took(Duration::from_secs(60)));
        assert!((0..100).all(|_| queue.pause() <= LONGEST_PAUSE));
        (0..100).for_each(|_| queue.took(Duration::from_millis(2)));
        assert!((0..100).all(|_| queue.pause() < Duration::from_millis(3)));
    }
}
