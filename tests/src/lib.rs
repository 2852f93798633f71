//! Each test gets a database of its own, dropped at its end, and a record of the commands that were sent. Models and helpers
//! that several tests use are in [`fixtures`], the harness is in [`harness`].

pub mod filters;
pub mod fixtures;
pub mod harness;
pub mod proxy;
pub mod random;
pub mod round_trips;

// So that a fixture reads as the tests do that use it.
extern crate self as odm_tests;

pub use harness::skip;
pub use odm_test_macros::test;

use futures::{FutureExt, TryStreamExt};
use mongodb::IndexModel;
use mongodb::bson::{Document, doc};
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use odm::Odm;
use odm::update::{Change, Changes};
use std::any::Any;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once};

/// That every reference and every copy in the database is right.
///
/// # Panics
/// With the audit, where one is not.
pub async fn assert_clean(odm: &Odm) {
    let audit = odm.audit().await.unwrap();
    assert!(audit.is_clean(), "{audit}");
}

/// As [`assert_clean`], saying after what.
pub async fn assert_clean_after(odm: &Odm, what: &str) {
    let audit = odm.audit().await.unwrap();
    assert!(audit.is_clean(), "{what}: {audit}");
}

/// Whether the deployment has no transactions: for a test that expects something else there.
///
/// # Panics
/// Where the server does not answer.
pub async fn lacks_transactions(odm: &Odm) -> bool {
    !odm.server().await.unwrap().has_transactions()
}

/// Skips the test where the deployment has no transactions: a standalone server.
///
/// # Panics
/// Where the server does not answer, and where the test is skipped.
pub async fn require_transactions(odm: &Odm) {
    if lacks_transactions(odm).await {
        skip("needs transactions: a replica set or a sharded cluster");
    }
}

/// Skips the test on a sharded cluster, where what it shows costs or says something else.
///
/// # Panics
/// Where the server does not answer, and where the test is skipped.
pub async fn require_no_cluster(odm: &Odm) {
    if odm.server().await.unwrap().topology() == odm::server::Topology::Sharded {
        skip("needs another deployment than a sharded cluster");
    }
}

/// Skips the test where a `$lookup` takes no pipeline beside a field, so that the children of several parents are a query for each.
///
/// # Panics
/// Where the server does not answer, and where the test is skipped.
pub async fn require_lookup_with_pipeline(odm: &Odm) {
    if !odm.server().await.unwrap().has_lookup_with_pipeline() {
        skip(
            "needs MongoDB 5.0 (5.1 on a sharded cluster): before, the children of several parents are a query for each",
        );
    }
}

/// Skips the test where no field within a document may have a name that begins with `$`.
///
/// # Panics
/// Where the server does not answer, and where the test is skipped.
pub async fn require_names_with_dollar(db: &Database) {
    let probe = db.collection::<Document>("probe");
    let stored = probe.insert_one(doc! { "a": { "$b": 1 } }).await;
    probe.drop().await.unwrap();
    if stored.is_err() {
        skip("needs MongoDB 5.0: before, no field may have a name that begins with `$`");
    }
}

/// Skips the test where the indexes of a collection don't inherit its collation, which SecantusDB in Python forgets.
///
/// # Panics
/// Where the server does not answer, and where the test is skipped.
pub async fn require_inherited_collations(db: &Database) {
    let create = doc! { "create": "probe", "collation": { "locale": "en", "strength": 2 } };
    db.run_command(create).await.unwrap();
    let probe = db.collection::<Document>("probe");
    let index = IndexModel::builder().keys(doc! { "a": 1 }).build();
    probe.create_index(index).await.unwrap();
    let indexes: Vec<IndexModel> = probe.list_indexes().await.unwrap().try_collect().await.unwrap();
    probe.drop().await.unwrap();
    let inherits = indexes.iter().any(|index| {
        let options = index.options.as_ref();
        index.keys.contains_key("a") && options.is_some_and(|options| options.collation.is_some())
    });
    if !inherits {
        skip("needs indexes that inherit the collation of their collection");
    }
}

/// Whether tests that take a minute on SecantusDB in Python, and seconds on every other server, are left out: there, unless
/// `ODM_LONG_TESTS` is set.
pub fn leaves_out_long_tests() -> bool {
    let is_python = std::env::var("ODM_SERVER_KIND").is_ok_and(|kind| kind == "secantus-py");
    is_python && std::env::var_os("ODM_LONG_TESTS").is_none()
}

/// Skips a test of thousands of documents on SecantusDB in Python.
///
/// # Panics
/// Where the test is skipped.
pub fn takes_long() {
    if leaves_out_long_tests() {
        skip("takes a minute on this server: `cargo xtask test --full`");
    }
}

/// Whether the server is SecantusDB, which stands in for MongoDB: it alone says so in its `buildInfo`.
///
/// # Panics
/// Where the server does not answer.
pub async fn is_the_stand_in(db: &Database) -> bool {
    let answer = db
        .run_command(mongodb::bson::doc! { "buildInfo": 1 })
        .await
        .unwrap();
    answer.contains_key("secantusVersion")
}

/// Whether the server is SecantusDB in Python, which may come to a standstill for ever where transactions meet an update of
/// many documents of their collection outside a transaction.
///
/// Such an update holds the collection while it waits for a transaction that has written one of the documents, and the next
/// statement of that one waits for the collection, or for the statement of another transaction that does. (Seen in 0.7.0b3. The
/// Rust one, which tells its `buildEnvironment`, can do so with an update or a deletion of many too, by its source; it was seen
/// twice, in 100,000 random operations with transactions, when the library still deleted one document as if it were many.)
///
/// # Panics
/// Where the server does not answer.
pub async fn may_stand_still(db: &Database) -> bool {
    is_the_stand_in_in_python(db).await
}

/// Whether the server is SecantusDB in Python. The one in Rust tells its `buildEnvironment`.
///
/// # Panics
/// Where the server does not answer.
pub async fn is_the_stand_in_in_python(db: &Database) -> bool {
    let build_info = db.run_command(mongodb::bson::doc! { "buildInfo": 1 });
    let answer = build_info.await.unwrap();
    answer.contains_key("secantusVersion") && !answer.contains_key("buildEnvironment")
}

/// The server that `MONGODB_URI` names.
fn server() -> Option<String> {
    std::env::var("MONGODB_URI").ok().filter(|uri| !uri.is_empty())
}

/// Whether a server is named.
pub(crate) fn has_server() -> bool {
    server().is_some()
}

/// The server that the tests run on.
///
/// # Panics
/// Where none is named: the one sentence that says what to run.
pub fn uri() -> String {
    server().unwrap_or_else(|| panic!("{}", harness::NO_SERVER))
}

/// The names of the commands that a client sent, in their order; its own housekeeping left out.
#[derive(Clone, Default)]
pub struct Commands(Arc<Mutex<Sent>>);

#[derive(Default)]
struct Sent {
    names: Vec<String>,
    /// The first filter that a router would refuse for its form.
    refused_filter: Option<String>,
    on_their_way: usize,
    most_together: usize,
}

impl Commands {
    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Forgets what was sent so far.
    pub fn clear(&self) {
        self.take();
    }

    /// The commands sent since the last `clear` or `take`.
    pub fn take(&self) -> Vec<String> {
        let mut sent = self.sent();
        sent.most_together = 0;
        std::mem::take(&mut sent.names)
    }

    /// How often this command was sent since the last `clear` or `take`.
    pub fn times(&self, name: &str) -> usize {
        self.sent().names.iter().filter(|sent| *sent == name).count()
    }

    /// How many were on their way at the same time, since the last `clear` or `take`.
    pub fn most_together(&self) -> usize {
        self.sent().most_together
    }

    fn handler(&self) -> EventHandler<CommandEvent> {
        let commands = self.clone();
        EventHandler::callback(move |event| {
            let (name, starts) = match &event {
                CommandEvent::Started(started) => (&started.command_name, true),
                CommandEvent::Succeeded(succeeded) => (&succeeded.command_name, false),
                CommandEvent::Failed(failed) => (&failed.command_name, false),
                _ => return,
            };
            if matches!(
                name.as_str(),
                "endSessions" | "hello" | "isMaster" | "ping" | "killCursors"
            ) {
                return;
            }
            let mut sent = commands.sent();
            if let CommandEvent::Started(started) = &event
                && sent.refused_filter.is_none()
            {
                sent.refused_filter = filters::problem(&started.command);
            }
            if starts {
                sent.names.push(name.clone());
                sent.on_their_way += 1;
                sent.most_together = sent.most_together.max(sent.on_their_way);
            } else {
                sent.on_their_way = sent.on_their_way.saturating_sub(1);
            }
        })
    }
}

/// A database for one test.
pub struct TestDb {
    /// The database; it is dropped when the test ends.
    pub db: Database,
    /// What its client sent.
    pub commands: Commands,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A write with changes that a function makes.
pub fn changed<T: odm::Document, C: Change<T>>(
    mut write: C,
    changes: impl FnOnce(Changes<T>) -> Changes<T>,
) -> C {
    *write.changes() = changes(Changes::new());
    write
}

/// A name that no other test uses, now or in another process.
pub fn unique_name() -> String {
    let n = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!(
        "odm_test_{}_{}_{n}",
        std::process::id(),
        mongodb::bson::oid::ObjectId::new().to_hex()
    )
}

impl TestDb {
    /// The same database as on a standalone server, which has no transactions: by way of a proxy that makes the server look like
    /// one. The commands are recorded with the others.
    ///
    /// # Panics
    /// Where the server does not answer.
    pub async fn standalone(&self) -> Database {
        let options = options(true).await;
        connect(options, &self.commands).database(self.db.name())
    }

    /// The same models as this handle has, on [a standalone server](TestDb::standalone).
    ///
    /// # Panics
    /// Where the server does not answer.
    pub async fn standalone_of(&self, odm: &Odm) -> Odm {
        let odm = odm::__private::in_database(odm, self.standalone().await);
        let odm = odm.unwrap_or_else(|e| panic!("no handle: {e}"));
        let server = odm.server().await.unwrap_or_else(|e| panic!("no server: {e}"));
        assert!(!server.has_transactions(), "{server}");
        // It has written before: what a handle asks once is no part of what is counted. It may lack models.
        let _ = odm.check_models().await;
        odm
    }
}

/// The options that are given for all tests; for a standalone server by way of a proxy that makes the server look like one.
///
/// # Panics
/// Where the server does not answer, or `MONGODB_URI` is not usable.
pub async fn options(standalone: bool) -> ClientOptions {
    if standalone {
        let proxy = proxy::Proxy::standalone(&proxy::server().await, 0).await;
        proxy.options().await
    } else {
        ClientOptions::parse(uri())
            .await
            .unwrap_or_else(|e| panic!("MONGODB_URI is not usable: {e}"))
    }
}

/// A client whose commands are recorded.
pub async fn client() -> (Client, Commands) {
    let commands = Commands::default();
    let options = options(false).await;
    (connect(options, &commands), commands)
}

fn connect(mut options: ClientOptions, commands: &Commands) -> Client {
    options.command_event_handler = Some(commands.handler());
    // The default of servers from 5.0 on. With less a transaction may not see what was written before it, and is run again:
    // that is a command more than is counted.
    options
        .write_concern
        .get_or_insert_with(mongodb::options::WriteConcern::majority);
    // A server may close what was idle for some minutes, and not every command is tried again.
    options
        .max_idle_time
        .get_or_insert(std::time::Duration::from_secs(60));
    options
        .server_selection_timeout
        .get_or_insert(std::time::Duration::from_secs(20));
    Client::with_options(options).unwrap_or_else(|e| panic!("MONGODB_URI is not usable: {e}"))
}

/// Asks nothing of any span, and lets every test ask for itself.
///
/// `tracing` caches the interest in a span when it is first entered. Entered in one test while another one installs its
/// subscriber, it could be cached as of no interest; with a subscriber from the beginning it is not.
struct Indifferent;

impl tracing::Subscriber for Indifferent {
    fn register_callsite(&self, _: &'static tracing::Metadata<'static>) -> tracing::subscriber::Interest {
        tracing::subscriber::Interest::sometimes()
    }

    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {}

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Runs a test on a database of its own, which is dropped whatever becomes of the test.
///
/// A test in which the stand-in of MongoDB fails by itself is run again: see `is_the_stand_ins`.
pub fn with_db<F, Fut>(test: F)
where
    F: Fn(TestDb) -> Fut,
    Fut: Future<Output = ()>,
{
    // What runs it is compiled once, and not for each of some hundred tests.
    run(&|db| Box::pin(test(db)));
}

/// Runs a test as [`with_db`] does, where the deployment has transactions; else the test is skipped.
pub fn with_transactions<F, Fut>(test: F)
where
    F: Fn(TestDb) -> Fut,
    Fut: Future<Output = ()>,
{
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), []).unwrap_or_else(|e| panic!("no handle: {e}"));
        require_transactions(&odm).await;
        test(t).await;
    });
}

/// A test, given its database.
type Test<'t> = &'t dyn Fn(TestDb) -> Pin<Box<dyn Future<Output = ()> + 't>>;

/// What SecantusDB answers where it has failed: by its name, and in its words.
const FAILED: [&str; 2] = ["InternalError", "internal server error"];

/// A test is given up after this number of failures of the stand-in.
const ATTEMPTS: usize = 3;

fn run(test: Test<'_>) {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        // A program of one test may have a listener of its own.
        let _ = tracing::subscriber::set_global_default(Indifferent);
        // A test is the only writer to its database, or waits itself.
        odm::__private::backfill_at_once();
    });
    for attempt in 1.. {
        match run_once(test) {
            Ok(()) => return,
            Err(panic) if attempt < ATTEMPTS && is_the_stand_ins(panic.as_ref()) => {
                // Also seen where the output of tests that succeed is kept back.
                let name = std::thread::current().name().unwrap_or("a test").to_owned();
                let _ = writeln!(
                    std::io::stderr(),
                    "{name}: the server failed by itself; once more"
                );
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Whether a test failed because SecantusDB says of itself that it failed.
///
/// Where transactions meet, its commit answers now and then with an `InternalError` instead of the `WriteConflict` that the
/// drivers know how to repeat ("conflict between concurrent operations" in its log). These words are never a mongod's.
fn is_the_stand_ins(panic: &(dyn Any + Send)) -> bool {
    let of_static = panic.downcast_ref::<&str>().copied();
    let message = panic.downcast_ref::<String>().map(String::as_str).or(of_static);
    message.is_some_and(|message| FAILED.iter().all(|words| message.contains(words)))
}

fn run_once(test: Test<'_>) -> std::thread::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap_or_else(|e| panic!("no runtime: {e}"));
    runtime.block_on(async {
        let (client, commands) = client().await;
        let db = client.database(&unique_name());
        let test = AssertUnwindSafe(test(TestDb {
            db: db.clone(),
            commands: commands.clone(),
        }))
        .catch_unwind()
        .await;
        let dropped = db.drop().await;
        let refused = commands.sent().refused_filter.take();
        test.map(|()| {
            dropped.unwrap_or_else(|e| panic!("the test's database could not be dropped: {e}"));
            if let Some(filter) = refused {
                panic!("a filter was sent that a router of a sharded cluster refuses: {filter}");
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::is_the_stand_ins;

    #[test]
    fn a_failure_of_the_stand_in_is_told_from_one_of_the_library() {
        let failed = |name: &str, message: &str| {
            format!(
                "called `Result::unwrap()` on an `Err` value: CommandError {{ code: 1, code_name: {name:?}, message: {message:?} }}"
            )
        };
        for (message, expected) in [
            (failed("InternalError", "internal server error"), true),
            (failed("InternalError", "something else"), false),
            (failed("WriteConflict", "internal server error"), false),
        ] {
            assert_eq!(is_the_stand_ins(&message), expected, "{message}");
            // As a task says it that has panicked.
            assert_eq!(is_the_stand_ins(&format!("{message:?}")), expected, "{message}");
        }
        assert!(is_the_stand_ins(
            &"Error code 1 (InternalError): internal server error"
        ));
        assert!(!is_the_stand_ins(&1));
    }
}
