//! The requests of a test to the router: moves of chunks and errors at a command with a number, and a count of what was broadcast.

use crate::request::Request;
use crate::transaction::lock;
use bson::Document;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The driver's own traffic, which has no number.
const UNCOUNTED: [&str; 8] = [
    "hello",
    "isMaster",
    "ismaster",
    "ping",
    "endSessions",
    "saslStart",
    "saslContinue",
    "buildInfo",
];

/// The most broadcasts that are kept with their commands.
const MOST_KEPT: usize = 1_000;

/// An error by which `mongos` ends a statement of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingError {
    /// The routing table was too old, and the statement can't be sent again.
    StaleConfig,
    /// A chunk that the statement needs has moved since the transaction began.
    MigrationConflict,
}

/// How many statements of a collection went to one shard, and how many to several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// To one shard.
    pub targeted: usize,
    /// To several shards.
    pub broadcast: usize,
}

/// A chunk that is to be moved.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub namespace: String,
    /// Values of the key that lie in the chunk.
    pub of: Document,
}

/// The state of the controls.
#[derive(Debug, Default)]
pub(crate) struct Control {
    commands: AtomicUsize,
    moves: Mutex<Vec<(usize, Move)>>,
    errors: Mutex<Vec<(usize, RoutingError)>>,
    counts: Mutex<BTreeMap<String, Counts>>,
    broadcasts: Mutex<Vec<String>>,
    pub leaves_orphans: AtomicBool,
    pub denies_config: AtomicBool,
}

impl Control {
    /// The number of a command that has come; `None` for the driver's own.
    pub(crate) fn number(&self, request: &Request) -> Option<usize> {
        let is_counted = !UNCOUNTED.contains(&request.name.as_str());
        is_counted.then(|| self.commands.fetch_add(1, Ordering::SeqCst) + 1)
    }

    pub(crate) fn commands(&self) -> usize {
        self.commands.load(Ordering::SeqCst)
    }

    pub(crate) fn move_at(&self, commands: usize, chunk: Move) {
        lock(&self.moves).push((self.commands() + commands, chunk));
    }

    /// The moves that are due before a command.
    pub(crate) fn due_moves(&self, number: usize) -> Vec<Move> {
        let mut moves = lock(&self.moves);
        let due = moves.extract_if(.., |(at, _)| *at <= number);
        due.map(|(_, chunk)| chunk).collect()
    }

    pub(crate) fn waiting_moves(&self) -> usize {
        lock(&self.moves).len()
    }

    pub(crate) fn fail_at(&self, commands: usize, error: RoutingError) {
        lock(&self.errors).push((self.commands() + commands, error));
    }

    /// The error of a command.
    pub(crate) fn error_at(&self, number: usize) -> Option<RoutingError> {
        let mut errors = lock(&self.errors);
        let at = errors.iter().position(|(at, _)| *at == number)?;
        Some(errors.remove(at).1)
    }

    /// Counts a statement of a sharded collection.
    pub(crate) fn count(&self, namespace: &str, shards: usize, statement: impl FnOnce() -> String) {
        let mut counts = lock(&self.counts);
        let counts = counts.entry(namespace.to_owned()).or_default();
        if shards < 2 {
            counts.targeted += 1;
            return;
        }
        counts.broadcast += 1;
        let mut broadcasts = lock(&self.broadcasts);
        if broadcasts.len() < MOST_KEPT {
            broadcasts.push(statement());
        }
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, Counts> {
        lock(&self.counts).clone()
    }

    pub(crate) fn take_broadcasts(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.broadcasts))
    }
}
