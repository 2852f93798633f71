//! A database that is read, and how.

use super::again::Ids;
use super::state::State;
use anyhow::Error;
use mongodb::Database;
use mongodb::error::ErrorKind;
use mongodb::options::{DatabaseOptions, ReadPreference, SelectionCriteria};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The number of documents of each collection that are read by default.
pub const SAMPLE: u64 = 10_000;

/// Called with the progress of a pass: the collection, the documents that were read, and their expected number.
pub type Progress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

/// How a database is read.
#[derive(Clone)]
pub struct ReadOptions {
    /// The number of documents of each collection that are read, chosen at random; `None` reads all.
    pub sample: Option<u64>,
    /// Whether values may be in the result.
    pub values: bool,
    /// Called with the progress of a pass, some ten times a second.
    pub progress: Option<Progress>,
    /// The file that says how far a reading of all documents has come, for one that is interrupted. It has the figures of what was
    /// read, with some values.
    pub state: Option<PathBuf>,
    /// How often the state is written, at most: where that takes long, it is written less often.
    pub every: Duration,
    /// Whether the documents of a sample are read [again](Source::again): their `_id`s are kept for that.
    pub again: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            sample: Some(SAMPLE),
            values: true,
            progress: None,
            state: None,
            every: Duration::from_secs(3),
            again: false,
        }
    }
}

impl fmt::Debug for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("sample", &self.sample)
            .field("values", &self.values)
            .field("progress", &self.progress.is_some())
            .field("state", &self.state)
            .field("every", &self.every)
            .field("again", &self.again)
            .finish()
    }
}

/// A database that is read, from a secondary where there is one.
#[derive(Debug)]
pub struct Source {
    pub(super) db: Database,
    options: ReadOptions,
    notes: Mutex<Vec<String>>,
    /// The state, once it is open.
    pub(super) state: Mutex<Option<State>>,
    /// The documents of each sample.
    pub(super) sampled: Mutex<HashMap<String, Ids>>,
}

impl Source {
    /// Reads this database. Nothing is sent yet.
    pub fn new(db: &Database, options: ReadOptions) -> Self {
        let secondary = DatabaseOptions::builder().selection_criteria(selection()).build();
        Self {
            db: db.client().database_with_options(db.name(), secondary),
            options,
            notes: Mutex::default(),
            state: Mutex::default(),
            sampled: Mutex::default(),
        }
    }

    /// The name of the database.
    pub fn name(&self) -> &str {
        self.db.name()
    }

    /// How it is read.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// What could not be read, so far: for [`Design::notes`](crate::design::Design::notes).
    pub fn notes(&self) -> Vec<String> {
        self.lock().clone()
    }

    pub(super) fn note(&self, note: String) {
        self.lock().push(note);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn tell(&self, collection: &str, read: u64, of: u64) {
        if let Some(progress) = &self.options.progress {
            progress(collection, read, of);
        }
    }
}

pub(super) fn selection() -> SelectionCriteria {
    SelectionCriteria::ReadPreference(ReadPreference::SecondaryPreferred {
        options: Default::default(),
    })
}

/// The code of an answer that refuses a command.
pub(super) fn code(error: &mongodb::error::Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// Whether the user may not do it: `Unauthorized`, and Atlas' own codes.
pub(super) fn is_refused(error: &mongodb::error::Error) -> bool {
    matches!(code(error), Some(13 | 8000))
}

/// An error with what could not be done, and what to do about it.
pub(super) fn failed(error: mongodb::error::Error, what: &str, database: &str) -> Error {
    let remedy = match &*error.kind {
        _ if is_refused(&error) => {
            format!("; give the user of the connection string the role `read` on the database `{database}`")
        }
        ErrorKind::Authentication { .. } => {
            "; check the user, the password and `authSource` in the connection string".to_owned()
        }
        ErrorKind::ServerSelection { .. } | ErrorKind::Io(_) => {
            "; check that the server runs and that the connection string names it".to_owned()
        }
        _ => String::new(),
    };
    Error::new(error).context(format!("{what}{remedy}"))
}
