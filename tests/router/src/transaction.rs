//! Transactions of the application, by their sessions. The backing server has one transaction for all shards, so it is atomic; what
//! differs on a cluster is kept here: which shards take part, what is answered after an error, and the token for its recovery.

use crate::catalog::SHARDS;
use crate::late::Window;
use crate::reply::{Answer, Failure, NO_SUCH_TRANSACTION, TRANSACTION_COMMITTED};
use bson::{Bson, Document, doc};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use tokio::sync::OwnedMutexGuard;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    InProgress,
    Aborted,
    Committed,
}

/// A transaction.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub session: Document,
    pub number: i64,
    pub state: State,
    /// Whether the backing server has the transaction.
    pub has_begun: bool,
    /// The version of the catalog at its beginning.
    pub since: u64,
    pub read_concern: Option<Document>,
    /// That of a write which the router executes in a transaction of its own.
    pub write_concern: Option<Bson>,
    /// The shards that have had a statement.
    pub participants: [bool; SHARDS.len()],
    /// The first shard that was written to.
    pub recovery: Option<usize>,
    /// The windows of late shards at its beginning, which its reads see.
    pub late: [Option<Arc<Window>>; SHARDS.len()],
    /// Collections that the router has made for it, to be dropped at its end.
    pub scratch: Vec<(String, String)>,
}

/// The transaction of a statement, kept from others while it runs.
pub(crate) type Held = OwnedMutexGuard<Transaction>;

impl Transaction {
    pub(crate) fn new(session: Document, number: i64, since: u64) -> Transaction {
        Transaction {
            session,
            number,
            state: State::InProgress,
            has_begun: false,
            since,
            read_concern: None,
            write_concern: None,
            participants: Default::default(),
            recovery: None,
            late: Default::default(),
            scratch: Vec::new(),
        }
    }

    /// Makes a command a statement of the transaction: the first one begins it on the backing server.
    pub(crate) fn enter(&mut self, command: &mut Document) {
        command.insert("lsid", self.session.clone());
        command.insert("txnNumber", self.number);
        command.insert("autocommit", false);
        if !std::mem::replace(&mut self.has_begun, true) {
            command.insert("startTransaction", true);
            if let Some(concern) = &self.read_concern {
                command.insert("readConcern", concern.clone());
            }
        }
    }

    /// Notes that a shard takes part.
    pub(crate) fn takes_part(&mut self, shard: usize, writes: bool) {
        self.participants[shard] = true;
        if writes {
            self.recovery.get_or_insert(shard);
        }
    }

    /// Whether its commit has two phases: several shards take part, and one was written to.
    pub(crate) fn has_two_phases(&self) -> bool {
        self.recovery.is_some() && self.participants.iter().filter(|part| **part).count() > 1
    }

    /// The token of its replies.
    pub(crate) fn token(&self) -> Document {
        match self.recovery {
            Some(shard) => doc! { "recoveryShardId": SHARDS[shard] },
            None => doc! {},
        }
    }

    /// The command that ends it on the backing server.
    pub(crate) fn abort(&self) -> Document {
        doc! { "abortTransaction": 1, "lsid": self.session.clone(), "txnNumber": self.number, "autocommit": false }
    }

    /// Whether it takes another statement.
    pub(crate) fn check(&self) -> Answer<()> {
        let n = self.number;
        let before = "Encountered non-retryable error during query :: caused by :: ";
        match self.state {
            State::InProgress => Ok(()),
            State::Committed => {
                TRANSACTION_COMMITTED.refuse(format!("{before}Transaction {n} has been committed."))
            }
            State::Aborted => Err(Failure::Refused(
                NO_SUCH_TRANSACTION.transient(format!("{before}Transaction {n} has been aborted.")),
            )),
        }
    }
}

/// The last transaction of each session.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    of_sessions: Mutex<HashMap<Vec<u8>, Arc<tokio::sync::Mutex<Transaction>>>>,
    /// The collections that open transactions have read or written.
    touched: Mutex<HashMap<Vec<u8>, BTreeSet<String>>>,
}

fn key(session: &Document) -> Vec<u8> {
    session.to_vec().unwrap_or_default()
}

impl Transactions {
    /// Begins a transaction, in the place of an earlier one of the session.
    pub(crate) async fn begin(&self, transaction: Transaction) -> Held {
        let key = key(&transaction.session);
        let transaction = Arc::new(tokio::sync::Mutex::new(transaction));
        lock(&self.touched).remove(&key);
        lock(&self.of_sessions).insert(key, transaction.clone());
        transaction.lock_owned().await
    }

    /// The transaction of a session, when its statements before have ended; `None` where it has none of this number.
    pub(crate) async fn get(&self, session: &Document, number: i64) -> Option<Held> {
        let transaction = lock(&self.of_sessions).get(&key(session)).cloned()?;
        let held = transaction.lock_owned().await;
        (held.number == number).then_some(held)
    }

    /// Notes that a transaction has read or written a collection.
    pub(crate) fn touch(&self, transaction: &Transaction, namespace: &str) {
        let mut touched = lock(&self.touched);
        touched
            .entry(key(&transaction.session))
            .or_default()
            .insert(namespace.to_owned());
    }

    /// Forgets what a transaction has read or written.
    pub(crate) fn end(&self, transaction: &Transaction) {
        lock(&self.touched).remove(&key(&transaction.session));
    }

    /// Whether an open transaction has read or written a collection.
    pub(crate) fn is_touched(&self, namespace: &str) -> bool {
        lock(&self.touched)
            .values()
            .any(|touched| touched.contains(namespace))
    }
}

/// Locks a value, also where a task that held it has panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
