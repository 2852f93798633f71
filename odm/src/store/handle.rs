//! The handle that everything works with: a database, and the models that are stored in it.

use crate::graph::Graph;
use crate::graph::edge::{Edge, EdgeId};
use crate::graph::known::UnknownDeclarations;
use crate::model::deferred;
use crate::model::document::{DocumentMeta, Model};
use crate::model::meta::names::root;
use crate::store::age::Age;
use crate::store::clock::{Clock, EARLIEST};
use crate::store::fan_out::FanOut;
use crate::store::looked::Looked;
use crate::store::options::{HandleOptions, Options};
use crate::store::queue::Queue;
use crate::store::scopes::Scopes;
use crate::store::server::{Server, Topology};
use crate::store::tasks::Tasks;
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document};
use mongodb::options::{DatabaseOptions, ReadConcern};
use mongodb::{ClientSession, Database};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;

/// A database and the documents that are stored in it. Cheap to clone.
///
/// [`collection`](Odm::collection) gives the typed collections, [`sync`](Odm::sync) makes the schema in the database,
/// [`bulk`](Odm::bulk) writes to several collections, and [`transaction`](Odm::transaction) does so as one.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example() -> odm::Result<()> {
/// let client = odm::mongodb::Client::with_uri_str("mongodb://127.0.0.1:27017/?replicaSet=rs0").await?;
/// let odm = Odm::new(client.database("app"), models![Person, Account])?;
/// odm.sync().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Odm {
    inner: Arc<HandleInner>,
    /// The databases that handles were made for.
    databases: Arc<Databases>,
    /// Asks for the first children of many parents as on a server without the stage for it.
    by_queries: bool,
    fan_out: FanOut,
    unknown: bool,
    /// How long stored declarations are held, where that is said.
    holding: Option<Duration>,
    options: HandleOptions,
    /// The times that its operations have seen, where they are causally consistent.
    clock: Option<Clock>,
    scopes: Scopes,
    /// How many hooks have called each other by their writes to come to this handle.
    hooks: u8,
}

struct HandleInner {
    db: Database,
    models: Arc<[Model]>,
    graph: Graph,
    server: Arc<OnceCell<Server>>,
    /// Whether the server took a `bulkWrite`, once one was sent.
    bulk_write: Arc<BulkWrite>,
    /// What goes on in tasks of its own.
    tasks: Tasks,
    /// Declarations in the database that the models lack.
    unknown: std::sync::RwLock<UnknownDeclarations>,
    /// The same as it was last read, also by operations that only apply pending work or repair: nothing else is refused because
    /// of it.
    lacking: std::sync::RwLock<Vec<&'static str>>,
    /// The two-way references, by their positions in the graph, of which a backfill is still to write the other side for
    /// documents that were there before, as it was found the last time.
    unlinked: std::sync::RwLock<Vec<EdgeId>>,
    /// The keys that are unique over all shards and whose values all documents have claimed.
    claimed: std::sync::RwLock<Vec<String>>,
    /// The ids of holders that transactions have read.
    looked: Looked,
    /// When the stored declarations were read.
    age: Age,
    /// The transactions of this process that wait for each other.
    queue: Arc<Queue>,
    /// The times of the commits on a sharded cluster, once there was one.
    commits: OnceLock<Clock>,
}

impl HandleInner {
    fn new(
        db: Database,
        models: Arc<[Model]>,
        graph: Graph,
        server: Arc<OnceCell<Server>>,
        bulk_write: Arc<BulkWrite>,
        tasks: Tasks,
    ) -> HandleInner {
        HandleInner {
            db,
            models,
            graph,
            server,
            bulk_write,
            tasks,
            unknown: std::sync::RwLock::default(),
            lacking: std::sync::RwLock::default(),
            unlinked: std::sync::RwLock::default(),
            claimed: std::sync::RwLock::default(),
            looked: Looked::default(),
            age: Age::default(),
            queue: Arc::default(),
            commits: OnceLock::new(),
        }
    }

    /// The same models in another database of the same server.
    fn in_database(&self, name: &str) -> HandleInner {
        let options = DatabaseOptions::builder()
            .selection_criteria(self.db.selection_criteria().cloned())
            .read_concern(self.db.read_concern().cloned())
            .write_concern(self.db.write_concern().cloned())
            .build();
        HandleInner::new(
            self.db.client().database_with_options(name, options),
            self.models.clone(),
            self.graph.of_another_database(),
            self.server.clone(),
            self.bulk_write.clone(),
            self.tasks.clone(),
        )
    }
}

/// The databases of a server by their names, each with its declarations and its queue.
#[derive(Default)]
struct Databases(Mutex<HashMap<String, Arc<HandleInner>>>);

impl Databases {
    /// From this number on, a database without a handle is forgotten.
    const MOST: usize = 10_000;
}

fn unknown_copies(meta: &DocumentMeta) -> Error {
    Error::UnknownCopies {
        edges: vec![format!("of `{}`", meta.collection)],
    }
}

/// Whether the server takes a `bulkWrite`, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct BulkWrite {
    taken: AtomicBool,
    refused: AtomicBool,
}

impl BulkWrite {
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) {
        self.taken.store(true, Ordering::Relaxed);
    }

    /// For good, whatever it took before: its `featureCompatibilityVersion` may be set back.
    pub(crate) fn refuse(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Odm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Odm")
            .field("database", &self.inner.db.name())
            .field("models", &self.inner.models)
            .finish()
    }
}

impl Odm {
    /// A handle of these models, of which the graph is.
    pub(crate) fn with_graph(db: Database, models: Vec<Model>, graph: Graph) -> Odm {
        let (server, bulk_write, tasks) = (Arc::default(), Arc::default(), Tasks::default());
        let inner = HandleInner::new(db, models.into(), graph, server, bulk_write, tasks);
        Odm {
            inner: Arc::new(inner),
            databases: Arc::default(),
            by_queries: false,
            fan_out: FanOut::new(),
            unknown: false,
            holding: None,
            options: HandleOptions::default(),
            clock: None,
            scopes: Scopes::default(),
            hooks: 0,
        }
    }

    /// The same models and options in another database of the same server, such as that of a tenant.
    ///
    /// The handle has the options and the scope of this one. The models are not checked again, and the server is not asked again
    /// for its capabilities. Whatever concerns one database belongs to it alone: [`sync`](Odm::sync), [`worker`](Odm::worker),
    /// [`audit`](Odm::audit) and the like are called for each database, and references lead to documents of the same one.
    ///
    /// Handles of one name that were made from one `Odm` or its clones share what they know of the database, so a handle may be made for
    /// every request. The names of databases come from your program: don't take one from a request unchecked.
    ///
    /// # Cost
    /// No round trip. The first write to collections with copies, links or references reads the declarations of its database,
    /// once in five minutes, as with [`Odm::new`]. A few kilobytes stay in memory for each of the first 10,000 databases; of
    /// more, only while they have handles.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, id: ObjectId) -> odm::Result<()> {
    /// let tenant = odm.with_database("tenant_7");
    /// tenant.sync().await?; // once, when the tenant is new or the models have changed
    /// let kate = tenant.collection::<Person>().get(id).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_database(&self, name: &str) -> Odm {
        let mut known = self.databases.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Databases::MOST && !known.contains_key(name) {
            known.retain(|_, inner| Arc::strong_count(inner) > 1);
        }
        let own = || self.inner.db.name().to_owned();
        known.entry(own()).or_insert_with(|| self.inner.clone());
        let inner = known.entry(name.to_owned());
        let inner = inner.or_insert_with(|| Arc::new(self.inner.in_database(name)));
        Odm {
            inner: inner.clone(),
            ..self.clone()
        }
    }

    /// The same handle for a hook. `None` where this many have called each other.
    pub(crate) fn of_hook(&self, most: u8) -> Option<Odm> {
        let hooks = self.hooks.saturating_add(1);
        (hooks <= most).then(|| Odm {
            hooks,
            ..self.clone()
        })
    }

    /// The same options for the database of another handle.
    pub(crate) fn with_inner_of(self, other: Odm) -> Odm {
        Odm {
            inner: other.inner,
            databases: other.databases,
            ..self
        }
    }

    /// Whether the server took a `bulkWrite`, once one was sent.
    pub(crate) fn bulk_write(&self) -> &BulkWrite {
        &self.inner.bulk_write
    }

    /// What goes on in tasks of its own, for this handle and those of other databases that were made from it.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// The transactions of this process that wait for each other.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.inner.queue
    }

    /// The ids of holders that transactions have read, for the deliveries after their commit.
    pub(crate) fn looked(&self) -> &Looked {
        &self.inner.looked
    }

    /// The driver's database.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let names = odm.database().list_collection_names().await?;
    /// # Ok(()) }
    /// ```
    pub fn database(&self) -> &Database {
        &self.inner.db
    }

    /// The registered documents.
    pub(crate) fn models(&self) -> &[Model] {
        &self.inner.models
    }

    /// Delivers copies to many documents in this way from now on.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(odm: Odm) -> Odm {
    /// odm.with_fan_out(odm::references::FanOut::new().batch(1_000).pause(std::time::Duration::from_millis(20)))
    /// # }
    /// ```
    #[must_use]
    pub fn with_fan_out(mut self, fan_out: FanOut) -> Odm {
        self.fan_out = fan_out;
        self
    }

    /// Writes also what is refused since the database knows copies, links and references that these models lack. Copies follow
    /// when a program that has their models does the pending work; links and buckets are wrong, and references to documents
    /// that are deleted dangle, until a [`repair`](Odm::repair) of such a program.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(odm: Odm) -> Odm {
    /// odm.allow_unknown_copies()
    /// # }
    /// ```
    #[must_use]
    pub fn allow_unknown_copies(mut self) -> Odm {
        self.unknown = true;
        self
    }

    /// Gives all operations of this handle these options. Those that are not among them stay as they are.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(odm: Odm) -> Odm {
    /// odm.with_options(odm::options::Options::new().comment("nightly report"))
    /// # }
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Odm {
        self.options.add(options);
        self
    }

    /// A handle whose operations are causally consistent: each read sees what the operations before it, of this handle and its
    /// clones, have read and written, also on a secondary.
    ///
    /// That holds across the election of another primary only with the read concern and the write concern `majority`. On a standalone
    /// server, which has no other to read from, it changes nothing. See [the manual](https://www.mongodb.com/docs/manual/core/causal-consistency-read-write-concerns/).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, kate: Person) -> odm::Result<()> {
    /// use odm::mongodb::options::ReadPreference;
    ///
    /// // One for each request of a user, say.
    /// let odm = odm.causally_consistent();
    /// let people = odm.collection::<Person>();
    /// people.update(kate.id).inc(|p| p.age, 1).await?;
    /// let secondary = ReadPreference::SecondaryPreferred { options: None };
    /// let older = people.find(|p| p.age.eq(kate.age + 1)).read_preference(secondary).one().await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn causally_consistent(mut self) -> Odm {
        self.clock = Some(Clock::default());
        self
    }

    pub(crate) fn options(&self) -> Option<&Options> {
        self.options.get()
    }

    pub(crate) fn handle_options(&self) -> &HandleOptions {
        &self.options
    }

    pub(crate) fn add_options(&mut self, options: Options) {
        self.options.add(options);
    }

    /// Whether both are one handle or its clones, but for their scopes and the options of their operations.
    pub(crate) fn is_same(&self, other: &Odm) -> bool {
        let is_same_clock = match (&self.clock, &other.clock) {
            (None, None) => true,
            (Some(one), Some(other)) => one.is_same(other),
            _ => false,
        };
        Arc::ptr_eq(&self.inner, &other.inner)
            && is_same_clock
            && self.fan_out.is_same(&other.fan_out)
            && (self.unknown, self.hooks) == (other.unknown, other.hooks)
    }

    /// Refuses options that an operation can't have.
    ///
    /// # Errors
    /// [`Error::Query`], with the option.
    pub(crate) fn may_have_options(&self, collection: &'static str) -> Result<()> {
        match self.options().and_then(Options::refused) {
            None => Ok(()),
            Some(message) => Err(Error::Query { collection, message }),
        }
    }

    /// The projection without the deferred fields of a document that are not asked for, if there are any. `with` are fields that are
    /// read in any case.
    pub(crate) fn without_deferred(&self, meta: &DocumentMeta, with: &[&str]) -> Option<Document> {
        let options = self.options();
        let is_asked = |name: &str| {
            options.is_some_and(|options| options.asks_for(meta.collection, name))
                || with.iter().any(|path| root(path) == name)
        };
        let mut left_out = deferred::names(meta).filter(|name| !is_asked(name)).peekable();
        left_out.peek()?;
        Some(left_out.map(|name| (name.to_owned(), Bson::Int32(0))).collect())
    }

    /// Takes off the options that an operation of a transaction can't have.
    pub(crate) fn within_transaction(&mut self) {
        if let Some(options) = self.options.get() {
            let within = options.within_transaction();
            self.options.set(within);
        }
    }

    pub(crate) fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    pub(crate) fn with_scopes(self, scopes: Scopes) -> Odm {
        Odm { scopes, ..self }
    }

    pub(crate) fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// Whether the deployment is known to be a sharded cluster. There, a transaction that several shards take part in is answered when its
    /// commit is decided, and before all of them have applied it: a read without a time may miss it.
    pub(crate) fn is_sharded(&self) -> bool {
        let server = self.known_server();
        server.is_some_and(|server| server.topology() == Topology::Sharded)
    }

    /// The times of the commits that a read of this database has to see, on a sharded cluster. Handles of other processes don't know them.
    pub(crate) fn commits(&self) -> Option<&Clock> {
        self.inner.commits.get()
    }

    /// Remembers the time of a commit, for the reads after it.
    pub(crate) fn committed(&self, session: &ClientSession) {
        if self.is_sharded() {
            self.inner.commits.get_or_init(Clock::default).advance(session);
        }
    }

    /// A session of the driver that begins with the times which this handle knows of.
    pub(crate) async fn begin_session(&self) -> mongodb::error::Result<ClientSession> {
        let mut session = self.database().client().start_session().await?;
        let clocks = self.commits().into_iter().chain(self.clock());
        clocks.for_each(|clock| clock.begin(&mut session));
        if self.is_sharded() {
            session.advance_operation_time(EARLIEST);
        }
        Ok(session)
    }

    /// The read concern of the application's reads by this handle.
    pub(crate) fn read_concern(&self) -> Option<&ReadConcern> {
        let own = self.options().and_then(|options| options.read_concern.as_ref());
        own.or_else(|| self.database().read_concern())
    }

    pub(crate) fn allows_unknown(&self) -> bool {
        self.unknown
    }

    pub(crate) fn age(&self) -> &Age {
        &self.inner.age
    }

    pub(crate) fn holding(&self) -> Option<Duration> {
        self.holding
    }

    /// Asks for the first children of many parents parent by parent, also where the server has a better way.
    pub(crate) fn set_by_queries(&mut self) {
        self.by_queries = true;
    }

    pub(crate) fn set_holding(&mut self, time: Duration) {
        self.holding = Some(time);
    }

    pub(crate) fn set_lacking(&self, collections: Vec<&'static str>) {
        let place = self.inner.lacking.write();
        *place.unwrap_or_else(std::sync::PoisonError::into_inner) = collections;
    }

    pub(crate) fn set_unlinked(&self, edges: Vec<EdgeId>) {
        let place = self.inner.unlinked.write();
        *place.unwrap_or_else(std::sync::PoisonError::into_inner) = edges;
    }

    /// Whether this side of a two-way reference, or the other one, may still lack what a backfill is to write: a link that is
    /// there on one side alone is no mistake then.
    pub(crate) fn is_unlinked(&self, edge: &Edge) -> bool {
        let unlinked = self.inner.unlinked.read();
        let unlinked = unlinked.unwrap_or_else(std::sync::PoisonError::into_inner);
        unlinked.contains(&edge.id) || edge.inverse.is_some_and(|inverse| unlinked.contains(&inverse))
    }

    pub(crate) fn set_claimed(&self, keys: Vec<String>) {
        let place = self.inner.claimed.write();
        *place.unwrap_or_else(std::sync::PoisonError::into_inner) = keys;
    }

    /// Whether all documents with values of this key, which is unique over all shards, are known to have claimed them.
    pub(crate) fn is_all_claimed(&self, key: &str) -> bool {
        let claimed = self.inner.claimed.read();
        let claimed = claimed.unwrap_or_else(std::sync::PoisonError::into_inner);
        claimed.iter().any(|name| name == key)
    }

    pub(crate) fn set_unknown(&self, unknown: UnknownDeclarations) {
        let mut place = self
            .inner
            .unknown
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *place = unknown;
    }

    fn unknown(&self) -> std::sync::RwLockReadGuard<'_, UnknownDeclarations> {
        self.inner
            .unknown
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Logs the collections of this program from which it may not delete.
    pub(crate) fn warn_of_references(&self) {
        if self.unknown {
            return;
        }
        for meta in self.graph().models() {
            if let Err(error @ Error::UnknownReferences { .. }) = self.may_delete(meta) {
                tracing::warn!(target: "odm", %error, "deletions are refused: the models of this process lack references");
            }
        }
    }

    /// Refuses writes whose effects on the copies of other programs can't be applied later.
    pub(crate) fn may_write(&self, meta: &DocumentMeta) -> Result<()> {
        if self.unknown || !self.unknown().copied.contains(&meta.collection) {
            Ok(())
        } else {
            Err(unknown_copies(meta))
        }
    }

    /// Refuses to apply the pending work of such documents, and to repair them, where these models are known to lack copies
    /// that depend on it: also where they may write them. The work would be cleared although a part of it was not applied, and
    /// of copies with one version only some would be new.
    pub(crate) fn knows_copies(&self, meta: &DocumentMeta) -> Result<()> {
        let lacking = self.inner.lacking.read();
        let lacking = lacking.unwrap_or_else(std::sync::PoisonError::into_inner);
        if !lacking.contains(&meta.collection) {
            Ok(())
        } else {
            Err(unknown_copies(meta))
        }
    }

    /// Refuses the deletion of documents that the models of another program refer to.
    pub(crate) fn may_delete(&self, meta: &DocumentMeta) -> Result<()> {
        self.may_write(meta)?;
        let unknown = self.unknown();
        let to_these = unknown
            .referred
            .iter()
            .filter(|(target, _)| target == meta.collection);
        let references: Vec<String> = to_these.map(|(_, name)| name.clone()).collect();
        if self.unknown || references.is_empty() {
            Ok(())
        } else {
            Err(Error::UnknownReferences {
                collection: meta.collection,
                references,
            })
        }
    }

    pub(crate) fn fan_out_options(&self) -> &FanOut {
        &self.fan_out
    }

    /// Whether several writes can be one transaction.
    pub(crate) async fn has_transactions(&self) -> Result<bool> {
        Ok(self.server().await?.has_transactions())
    }

    /// Whether one query can give the first children of many parents, in a transaction or out of one.
    pub(crate) async fn joins_children(&self, in_transaction: bool) -> Result<bool> {
        Ok(!self.by_queries && self.server().await?.joins_children(in_transaction))
    }

    /// The references between the registered documents.
    pub(crate) fn graph(&self) -> &Graph {
        &self.inner.graph
    }

    /// The deployment and its capabilities: asked once, then remembered by this handle and its clones.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the server can't be reached; then the next call asks again.
    ///
    /// # Cost
    /// One round trip the first time (two before MongoDB 4.4.2), then none.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let server = odm.server().await?;
    /// println!("{server}"); // a replica set of wire version 25
    /// # Ok(()) }
    /// ```
    pub async fn server(&self) -> Result<&Server> {
        match self.inner.server.get() {
            Some(server) => Ok(server),
            None => self.ask().await,
        }
    }

    fn ask(&self) -> BoxFuture<'_, Result<&Server>> {
        let server = self.inner.server.get_or_try_init(|| Server::ask(&self.inner.db));
        server.boxed()
    }

    /// The deployment, if an operation has asked for it before.
    pub(crate) fn known_server(&self) -> Option<&Server> {
        self.inner.server.get()
    }
}
