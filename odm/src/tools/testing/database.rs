//! A database for one test: dropped by its guard, or by a later run.

use super::broadcasts::{self, AllowedBroadcasts};
use super::commands::Commands;
use super::key_values::ShardKey;
use super::scans;
use super::targeting::ShardKeys;
use crate::model::document::Model;
use crate::rules::others::backfill_at_once;
use crate::{Odm, Result};
use mongodb::bson::{doc, oid::ObjectId};
use mongodb::options::{ClientOptions, WriteConcern};
use mongodb::{Client, Database};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How the names of databases of tests begin. An id follows, which holds the time of its creation.
const PREFIX: &str = "odm_test_";

/// A run drops the databases of tests that began this long before it.
const SWEPT_AFTER: Duration = Duration::from_secs(60 * 60);

/// How long a test waits for the server.
const PATIENCE: Duration = Duration::from_secs(10);

/// The file in which `odm server` says where its server is, below the folder that it was started in.
const URI_FILE: &str = ".odm/uri";

const NO_SERVER: &str =
    "no MongoDB server: run `odm server` in this folder, or set MONGODB_URI to the connection string of one";

/// A database that no other test uses. It is a [`Database`] of the driver.
///
/// It is dropped with this guard, also where the test panics. Its name is `odm_test_` with an id; the first call of
/// [`database`] in a process drops databases of such a name that are older than an hour, which tests that were killed left
/// behind.
pub struct TestDatabase {
    db: Database,
    commands: Commands,
    rest: Option<Rest>,
}

/// The checks at the end of the test, and what they need.
#[derive(Clone)]
struct Rest {
    options: ClientOptions,
    name: String,
    commands: Commands,
    denies_scans: bool,
    may_scan: BTreeSet<String>,
    max_repeats: Option<usize>,
    denies_broadcast: bool,
    may_broadcast: AllowedBroadcasts,
    /// The declared shard keys, once a handle was made.
    keys: Arc<Mutex<Option<ShardKeys>>>,
    is_kept: bool,
}

/// A database of its own for a test, on [the server for tests](super#the-server).
///
/// ```no_run
/// # use samples::model::*;
/// #[tokio::test]
/// # async fn unused() {}
/// async fn emails_are_unique() -> odm::Result<()> {
///     let db = odm::testing::database().await;
///     let odm = db.odm(models![User]).await?;
///     // …
///     Ok(())
/// }
/// ```
///
/// # Cost
/// Nothing by itself; the first call of a process lists the databases, and drops those that tests left behind.
///
/// # Panics
/// Where no server is named or the server does not answer within ten seconds, with one sentence that says what to do.
pub async fn database() -> TestDatabase {
    let uri = named_server().unwrap_or_else(|| panic!("{NO_SERVER}"));
    database_at(&uri).await
}

/// As [`database`], on the server of a connection string.
///
/// # Panics
/// Where the connection string is not valid, and where the server does not answer within ten seconds.
pub async fn database_at(uri: &str) -> TestDatabase {
    let options = options(uri).await.unwrap_or_else(|error| {
        panic!("the connection string of the server for tests is not valid: {error}")
    });
    let name = format!("{PREFIX}{}", ObjectId::new().to_hex());
    let commands = Commands::default();
    let rest = Rest {
        options,
        name,
        commands: commands.clone(),
        denies_scans: false,
        may_scan: BTreeSet::new(),
        max_repeats: None,
        denies_broadcast: false,
        may_broadcast: AllowedBroadcasts::default(),
        keys: Arc::default(),
        is_kept: false,
    };
    let mut recorded = rest.options.clone();
    recorded.command_event_handler = Some(commands.handler(rest.name.clone()));
    let client = connect(recorded);
    sweep(&client)
        .await
        .unwrap_or_else(|error| panic!("the server for tests does not answer: {error}"));
    TestDatabase {
        db: client.database(&rest.name),
        commands,
        rest: Some(rest),
    }
}

/// The server that the environment names, or else the one that `odm server` runs in this folder or one above it.
fn named_server() -> Option<String> {
    let named = std::env::var("MONGODB_URI")
        .ok()
        .filter(|uri| !uri.trim().is_empty());
    named.or_else(|| uri_file(&std::env::current_dir().ok()?))
}

fn uri_file(from: &Path) -> Option<String> {
    from.ancestors()
        .find_map(|folder| std::fs::read_to_string(folder.join(URI_FILE)).ok())
        .map(|uri| uri.trim().to_owned())
        .filter(|uri| !uri.is_empty())
}

async fn options(uri: &str) -> mongodb::error::Result<ClientOptions> {
    let mut options = ClientOptions::parse(uri).await?;
    options.server_selection_timeout.get_or_insert(PATIENCE);
    // The default of servers from 5.0 on. With less a transaction may not see what was written before it.
    options.write_concern.get_or_insert_with(WriteConcern::majority);
    Ok(options)
}

fn connect(options: ClientOptions) -> Client {
    Client::with_options(options)
        .unwrap_or_else(|error| panic!("no client for the server for tests: {error}"))
}

/// Drops what tests left behind, once in a process.
async fn sweep(client: &Client) -> mongodb::error::Result<()> {
    static SWEPT: AtomicBool = AtomicBool::new(false);
    if SWEPT.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let names = client
        .list_database_names()
        .filter(doc! { "name": { "$regex": format!("^{PREFIX}[0-9a-f]{{24}}$") } })
        .await?;
    for name in names
        .iter()
        .filter(|name| is_left_behind(name, SystemTime::now()))
    {
        client.database(name).drop().await?;
    }
    Ok(())
}

/// Whether the database of a test is so old that the test has ended.
fn is_left_behind(name: &str, now: SystemTime) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|id| ObjectId::parse_str(id).ok())
        .and_then(|id| now.duration_since(id.timestamp().to_system_time()).ok())
        .is_some_and(|age| age > SWEPT_AFTER)
}

impl TestDatabase {
    /// A handle to this database with the collections, validators and indexes of its models. The commands that this takes are
    /// not recorded.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn test() -> odm::Result<()> {
    /// let db = odm::testing::database().await;
    /// let odm = db.odm(models![Person, Account]).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Odm::new`] and [`Odm::sync`].
    ///
    /// # Cost
    /// That of [`Odm::sync`] on an empty database.
    pub async fn odm(&self, models: impl IntoIterator<Item = Model>) -> Result<Odm> {
        // The test is the only writer to its database: there is no other process to wait for.
        backfill_at_once();
        let odm = Odm::new(self.db.clone(), models)?;
        odm.sync().await?;
        if let Some(rest) = &self.rest {
            rest.declare(&odm);
        }
        self.commands.clear();
        Ok(odm)
    }

    /// The commands that were sent to this database.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Fails the test at its end where a command that was sent reads a whole collection: a query without an index, in the
    /// words of the server a `COLLSCAN`. The server is asked for its plan of each command (`explain`) as it would be now.
    ///
    /// Statements that the library sends by itself are left out: [`sync`](Odm::sync) makes the indexes that they need.
    ///
    /// ```no_run
    /// # async fn test() {
    /// let db = odm::testing::database().await.deny_scans().allow_scans_of("countries");
    /// # }
    /// ```
    #[must_use]
    pub fn deny_scans(mut self) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.denies_scans = true;
        }
        self
    }

    /// Lets commands read all of one collection, which is small or is meant to be read as a whole.
    #[must_use]
    pub fn allow_scans_of(mut self, collection: &str) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.may_scan.insert(collection.to_owned());
        }
        self
    }

    /// Fails the test at its end where it sent more than `max` commands of [one shape](crate::testing::Sent::shape): a query in a loop
    /// (N+1).
    ///
    /// ```no_run
    /// # async fn test() {
    /// let db = odm::testing::database().await.max_repeats(3);
    /// # }
    /// ```
    #[must_use]
    pub fn max_repeats(mut self, max: usize) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.max_repeats = Some(max);
        }
        self
    }

    /// Fails the test at its end where a statement that it sent goes to all shards of a collection with a declared shard key
    /// (`#[document(shard_key(…))]`), or is one that a router of a sharded cluster refuses because of the key.
    ///
    /// Both follow from the statement and the declarations of the models that [`odm`](TestDatabase::odm) was given, so the test runs on
    /// any server. A statement that names a field of the key by an equality or by `$in` goes to the shards of these values; one that
    /// names the first field alone goes to those that have documents of it, and is none of those that fail. Statements that the
    /// library sends by itself count, for instance of copies and references.
    ///
    /// What fails names the operation, the collection, the command, and the field of the key that is not known. It becomes known
    /// by a handle that is [`scoped`](Odm::scoped) to the field, by the condition of the operation, or by the document that is given.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn test() -> odm::Result<()> {
    /// // With `#[document(shard_key(owner, hashed(id)))]` of the account:
    /// let db = odm::testing::database().await.deny_broadcast().allow_broadcast("count", "accounts");
    /// let odm = db.odm(models![Account]).await?;
    ///
    /// let owner = ObjectId::new();
    /// let of_owner = odm.scoped(Account::paths().owner, owner)?.collection::<Account>();
    /// of_owner.get(1).await?; // goes to one shard
    ///
    /// let accounts = odm.collection::<Account>();
    /// accounts.find_all().count().await?; // goes to all shards, which is allowed
    /// accounts.get(1).await?; // goes to all shards: `close` fails
    /// db.close().await
    /// # }
    /// ```
    #[must_use]
    pub fn deny_broadcast(mut self) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.denies_broadcast = true;
        }
        self
    }

    /// Lets an operation send statements to all shards of one collection. Both are named as in what
    /// [`deny_broadcast`](TestDatabase::deny_broadcast) says: the operation by its name in `tracing`, a command of the driver by its own.
    #[must_use]
    pub fn allow_broadcast(mut self, operation: &str, collection: &str) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.may_broadcast.allow(operation, Some(collection));
        }
        self
    }

    /// Lets an operation send statements to all shards of every collection: `audit`, which reads them whole.
    #[must_use]
    pub fn allow_broadcasts_by(mut self, operation: &str) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.may_broadcast.allow(operation, None);
        }
        self
    }

    /// Leaves the database where it is, and prints its name: to look at what a test wrote.
    #[must_use]
    pub fn keep(mut self) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.is_kept = true;
            println!("the database of this test is kept: {}", rest.name);
        }
        self
    }

    /// Each breach of [`deny_scans`](TestDatabase::deny_scans), [`max_repeats`](TestDatabase::max_repeats) and
    /// [`deny_broadcast`](TestDatabase::deny_broadcast): a sentence each.
    ///
    /// # Errors
    /// A command of the test that the server does not explain: [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Cost
    /// With `deny_scans` one round trip for each shape of command.
    pub async fn faults(&self) -> Result<Vec<String>> {
        match &self.rest {
            Some(rest) => Ok(rest.faults(&self.db).await?),
            None => Ok(Vec::new()),
        }
    }

    /// Ends the test: checks the commands, and drops the database. Dropping the guard does the same, and blocks the thread
    /// meanwhile.
    ///
    /// # Errors
    /// Those of [`faults`](TestDatabase::faults), and a database that can't be dropped.
    ///
    /// # Cost
    /// That of `faults`, and one round trip to drop the database.
    ///
    /// # Panics
    /// Where the commands did what the test denies, with a sentence for each.
    pub async fn close(mut self) -> Result<()> {
        let Some(rest) = self.rest.take() else {
            return Ok(());
        };
        let faults = rest.faults(&self.db).await;
        rest.drop_database(&self.db).await?;
        assert_none(&faults?);
        Ok(())
    }
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

impl Rest {
    async fn faults(&self, db: &Database) -> mongodb::error::Result<Vec<String>> {
        let mut faults = Vec::new();
        if let Some(max) = self.max_repeats {
            let shapes = self.commands.shapes();
            faults.extend(
                shapes
                    .into_iter()
                    .filter(|(_, times)| *times > max)
                    .map(|(shape, times)| {
                        format!(
                            "sent {times} times, and at most {max} are allowed (a query in a loop?): {shape}"
                        )
                    }),
            );
        }
        if self.denies_broadcast {
            let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
            faults.extend(broadcasts::faults(
                &self.commands.all(),
                keys.as_ref(),
                &self.may_broadcast,
            ));
        }
        if self.denies_scans {
            faults.extend(self.scans(db).await?);
        }
        Ok(faults)
    }

    /// Adds the shard keys that the models of a handle declare.
    fn declare(&self, odm: &Odm) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = keys.get_or_insert_default();
        for model in odm.models() {
            if let Some(key) = ShardKey::of(model.meta) {
                keys.insert(model.meta.collection.to_owned(), key);
            }
        }
    }

    async fn scans(&self, db: &Database) -> mongodb::error::Result<Vec<String>> {
        let mut asked = BTreeSet::new();
        let mut faults = Vec::new();
        for sent in self.commands.all() {
            let Some(collection) = &sent.collection else {
                continue;
            };
            let shape = sent.shape();
            // Statements of the library itself name its own fields; `sync` makes the indexes that they need.
            let is_own =
                collection.starts_with("_odm") || shape.contains("_odm.") || shape.contains("_copied");
            if is_own || self.may_scan.contains(collection) || !asked.insert(shape) {
                continue;
            }
            for statement in scans::statements(&sent) {
                if scans::is_scan(db, &statement).await? {
                    faults.push(format!(
                        "reads the whole collection `{collection}`, since no index serves it: {}",
                        sent.shape()
                    ));
                }
            }
        }
        Ok(faults)
    }

    async fn drop_database(&self, db: &Database) -> mongodb::error::Result<()> {
        if self.is_kept {
            return Ok(());
        }
        db.drop().await
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Some(rest) = self.rest.take() else {
            return;
        };
        let is_failing = std::thread::panicking();
        // This may run within a runtime, which can't wait for another future here: a thread of its own does.
        let ended = std::thread::spawn(move || end(&rest, is_failing)).join();
        let problem = match ended {
            Ok(Ok(faults)) if faults.is_empty() => return,
            Ok(Ok(faults)) => faults.join("\n"),
            Ok(Err(error)) => format!("the test could not be ended: {error}"),
            Err(_) => "the test could not be ended: its thread panicked".to_owned(),
        };
        // A second panic would abort the process, and hide the first one.
        assert!(is_failing, "{problem}");
        eprintln!("{problem}");
    }
}

/// Checks the commands of a test that did not fail before, and drops its database.
fn end(rest: &Rest, is_failing: bool) -> mongodb::error::Result<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // The client of the test belongs to the runtime of the test.
        let db = connect(rest.options.clone()).database(&rest.name);
        let faults = if is_failing {
            Ok(Vec::new())
        } else {
            rest.faults(&db).await
        };
        rest.drop_database(&db).await?;
        faults
    })
}

impl Deref for TestDatabase {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.db
    }
}

impl fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestDatabase")
            .field("name", &self.db.name())
            .field("commands", &self.commands)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_left_behind_after_an_hour() {
        let id = ObjectId::new();
        let name = format!("{PREFIX}{}", id.to_hex());
        let created = id.timestamp().to_system_time();
        assert!(!is_left_behind(&name, created + SWEPT_AFTER));
        assert!(is_left_behind(
            &name,
            created + SWEPT_AFTER + Duration::from_secs(1)
        ));
        assert!(!is_left_behind("odm_test_of_mine", created + 2 * SWEPT_AFTER));
    }

    #[test]
    fn the_server_of_the_folder_or_one_above_it_is_found() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let inner = dir.path().join("app/src");
        std::fs::create_dir_all(&inner)?;
        assert_eq!(uri_file(&inner), None);
        std::fs::create_dir(dir.path().join("app/.odm"))?;
        std::fs::write(dir.path().join("app/.odm/uri"), "mongodb://127.0.0.1:1/\n")?;
        assert_eq!(uri_file(&inner).as_deref(), Some("mongodb://127.0.0.1:1/"));
        Ok(())
    }
}
