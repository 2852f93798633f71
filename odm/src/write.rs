//! Writes of whole documents, one or many: inserts, replacements, deletions, and writes to several collections in a bulk.

pub use crate::bulk::{Bulk, BulkDone};
pub use crate::insert_many::InsertMany;
pub use crate::model::document::{Fresh, FromNew, Insertable, Replaceable, Target};

use crate::collection::{Core, act};
use crate::keep::{Replacement, refuse_own};
use crate::model::document::DocumentMeta;
use crate::model::names::read_too;
use crate::operators::never_changed;
use crate::relation::{self, Amend, Duties, Outcome, What as Relation, Write};
use crate::session::Shared;
use crate::store::trace::Trace;
use crate::{Collection, Document, Error, Filter, Result, model::check, query::operand, store::decode};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, RawDocument, RawDocumentBuf, doc};
use mongodb::options::{Collation, ReadPreference, SelectionCriteria, UpdateModifications};
use std::future::IntoFuture;
use std::sync::atomic::AtomicU64;

/// The document as serde stores it, within its bounds.
pub(crate) fn encode<T: Document>(document: &T) -> Result<RawDocumentBuf> {
    // A buffer that grows from nothing is moved seven times on its way to 1 kB.
    let mut bytes = Vec::with_capacity(512);
    encode_behind(document, &mut bytes)?;
    RawDocumentBuf::from_bytes(bytes).map_err(|source| not_encoded(T::META, source))
}

/// Writes the document as serde stores it behind what is there, if it is within its bounds.
pub(crate) fn encode_behind<T: Document>(document: &T, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    let written = bson::serialize_to_buffer(document, &mut *bytes);
    checked(T::META, written, bytes.get(start..).unwrap_or_default())
}

/// Checks a document that was written to a buffer.
fn checked(meta: &'static DocumentMeta, written: bson::error::Result<()>, bytes: &[u8]) -> Result<()> {
    let raw = written.and_then(|()| RawDocument::from_bytes(bytes));
    let raw = raw.map_err(|source| not_encoded(meta, source))?;
    if (meta.extra)() {
        refuse_own(meta, raw)?;
    }
    check::document(meta, raw)
}

pub(crate) fn not_encoded(meta: &DocumentMeta, source: bson::error::Error) -> Error {
    Error::Encode {
        field: meta.name.to_owned(),
        source: Box::new(source),
    }
}

/// The document, where it is whole before others are asked, and how it is stored.
pub(crate) fn encoded<T: Document>(document: Fresh<T>) -> Result<(Option<T>, RawDocumentBuf)> {
    match document {
        Fresh::Whole(document) => {
            let raw = encode(&document)?;
            Ok((Some(document), raw))
        }
        // Derived fields are still missing, so the bounds are checked when they are filled in.
        Fresh::Partial(raw) => Ok((None, raw?)),
    }
}

/// One document to insert. `.await` executes the insert and returns the document as it is stored.
///
/// The documents that it refers to are looked up before it is inserted, and again afterwards: if one has been deleted
/// meanwhile, the new document is deleted again. With a two-way reference the other side is written too, in one transaction
/// with the insert where the deployment has transactions. Without them these are separate writes: a crash between them leaves a
/// link on one side, which [`audit`](crate::Odm::audit) finds and [`repair`](crate::Odm::repair) completes.
///
/// # Errors
/// [`Error::Invalid`] and [`Error::TooLarge`] before anything is sent, [`Error::DuplicateKey`] from the server.
/// [`Error::MissingReference`] where a document that it refers to does not exist; from the other side of a two-way reference
/// [`Error::ArrayFull`], and [`Error::Query`] where a document there would lose a required reference.
///
/// # Cost
/// One round trip. One before and one after for each collection (and field in it) that it refers to; outside of a transaction
/// these run at once. With two-way references one for each collection on the other side and one for the commit, and one more
/// for each such collection with single references, to read their previous values.
///
/// # Example
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>, new: NewPerson) -> odm::Result<()> {
/// let kate = people.insert(new).await?;
/// # Ok(()) }
/// ```
#[must_use = "an insert does nothing until it is awaited"]
#[derive(Debug)]
pub struct Insert<T: Document> {
    collection: Collection<T>,
    document: Fresh<T>,
}

impl<T: Document> Insert<T> {
    pub(crate) fn new(collection: &Collection<T>, document: Fresh<T>) -> Self {
        let collection = collection.clone();
        Insert { collection, document }
    }
}

impl<T: Document> IntoFuture for Insert<T> {
    type Output = Result<T>;
    type IntoFuture = BoxFuture<'static, Result<T>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Insert { collection, document } = self;
            let (document, raw) = encoded(document)?;
            insert(collection.core().clone(), raw).await?.read(document)
        }
        .boxed()
    }
}

/// A document that was written, as it is stored.
struct Stored {
    raw: RawDocumentBuf,
    /// Whether it is as the caller gave it.
    is_given: bool,
    trace: Trace,
    meta: &'static DocumentMeta,
}

impl Stored {
    /// In its type: the given one, where that is as it is stored.
    fn read<T: Document>(self, given: Option<T>) -> Result<T> {
        match given {
            Some(given) if self.is_given => Ok(given),
            _ => decode::decode(self.meta, &self.raw).inspect_err(|error| self.trace.failed(error)),
        }
    }
}

fn insert(core: Core, mut raw: RawDocumentBuf) -> BoxFuture<'static, Result<Stored>> {
    async move {
        let core = &core;
        let meta = core.meta();
        let trace = core.trace("insert");
        let derives = trace
            .run(async {
                core.odm().know_declarations(&trace).await?;
                let mut token = None;
                let derives = amend(core, &trace).concerns(meta);
                if derives {
                    let one = std::slice::from_mut(&mut raw);
                    amend(core, &trace).insert(meta, one, &mut token).await?;
                    check::document(meta, &raw)?;
                }
                let raw = &raw;
                let insert = |session: Option<Shared>| {
                    async move {
                        let action = core.raw().insert_one(raw);
                        act!(session.as_ref(), action).map_err(|error| core.error(error))?;
                        Ok(Outcome::default())
                    }
                    .boxed()
                };
                let what = Relation::Insert(raw);
                match Duties::of(core.odm(), [Write { meta, what }].into_iter(), token)? {
                    None => insert(core.session().cloned()).await?,
                    Some(duties) => duties.execute(core.session(), &trace, &insert).await?,
                };
                trace.done(1, 1);
                Ok(derives)
            })
            .await?;
        Ok(Stored {
            raw,
            is_given: !derives,
            trace,
            meta,
        })
    }
    .boxed()
}

/// The id and, where the caller has seen one, the version: what a write of one document looks for.
pub(crate) fn target_filter(meta: &DocumentMeta, id: &Bson, seen: Option<i64>) -> bson::Document {
    let mut filter = doc! { "_id": id };
    if let (Some(seen), Some(name)) = (seen, meta.version()) {
        // A document from before its type had versions holds none, which is read as 0 where serde has a default for it.
        match seen {
            0 => filter.insert(name, doc! { "$in": [0_i64, null] }),
            seen => filter.insert(name, seen),
        };
    }
    filter
}

/// Why a write of one document matched none: it does not exist, or it has another version. `None`: it exists with this version,
/// so something else prevented the write.
pub(crate) fn missed(
    meta: &DocumentMeta,
    id: &Bson,
    seen: Option<i64>,
    stored: Option<&bson::Document>,
) -> Option<Error> {
    let collection = meta.collection;
    let Some(stored) = stored else {
        return Some(Error::NotFound {
            collection,
            id: Box::new(id.clone()),
        });
    };
    let (Some(seen), Some(name)) = (seen, meta.version()) else {
        return None;
    };
    let found = match stored.get(name) {
        Some(Bson::Int64(n)) => Some(*n),
        Some(Bson::Int32(n)) => Some(i64::from(*n)),
        Some(Bson::Double(n)) => crate::model::key::integer(*n),
        _ => None,
    };
    // As the filter has it, none is 0.
    (found.unwrap_or(0) != seen).then(|| Error::Conflict {
        collection,
        id: Box::new(id.clone()),
        seen,
        found,
    })
}

/// Reads that explain a write which matched nothing go to the primary: a secondary may lag behind.
pub(crate) const PRIMARY: SelectionCriteria = SelectionCriteria::ReadPreference(ReadPreference::Primary);

/// Reads some fields of one document, to explain why a write of it changed nothing.
pub(crate) async fn peek(
    core: &Core,
    id: &Bson,
    names: impl IntoIterator<Item = &str>,
) -> Result<Option<bson::Document>> {
    let mut projection = doc! { "_id": 1 };
    for name in names {
        read_too(&mut projection, name);
    }
    let action = core.raw().clone_with_type::<bson::Document>();
    let mut action = action.find_one(doc! { "_id": id }).projection(projection);
    if core.session().is_none() {
        action = action.selection_criteria(PRIMARY);
    }
    act!(core.session(), action).map_err(|error| core.error(error))
}

/// Fills in copies before a write to this collection.
pub(crate) fn amend<'a>(core: &'a Core, trace: &'a Trace) -> Amend<'a> {
    Amend {
        odm: core.odm(),
        session: core.session(),
        trace,
        beside: &[],
    }
}

/// A whole document that replaces the one with its id. `.await` executes the replacement and returns the document as it is
/// stored.
///
/// It replaces the fields that the type declares, and keeps the others: a field that another program, or a later version of
/// this one, has added to the document stays, at the top and in embedded structs. A declared field that the document leaves out
/// (an `Option` with `skip_serializing_if`) is removed, and so is its previous name (a serde `alias`). `created_at` of
/// `#[document(timestamps)]` stays as it is stored.
///
/// These values are replaced as a whole: arrays with their items, maps, opaque fields, untagged enums, an enum that has become
/// another variant, a struct with `#[serde(deny_unknown_fields)]`, which could not be decoded with other fields, and values
/// below twelve nested structs. A tagged enum of the same variant keeps fields that it does not declare.
///
/// # Errors
/// As [`Collection::replace`] says.
///
/// # Cost
/// As [`Collection::replace`] says.
///
/// # Example
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(accounts: Collection<Account>, mut account: Account) -> odm::Result<()> {
/// account.cents += 100;
/// let account = accounts.replace(account).await?;
/// # Ok(()) }
/// ```
#[must_use = "a replacement does nothing until it is awaited"]
#[derive(Debug)]
pub struct Replace<T: Document> {
    collection: Collection<T>,
    document: T,
    exact: bool,
}

impl<T: Document> Replace<T> {
    pub(crate) fn new(collection: &Collection<T>, document: T) -> Self {
        Replace {
            collection: collection.clone(),
            document,
            exact: false,
        }
    }

    /// Replaces the whole document: only the id and the fields that the library maintains (links, derived fields, snapshots)
    /// are kept. `created_at` becomes the document's.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(accounts: Collection<Account>, restored: Account) -> odm::Result<()> {
    /// let account = accounts.replace(restored).exact().await?;
    /// # Ok(()) }
    /// ```
    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }
}

impl<T: Document> IntoFuture for Replace<T> {
    type Output = Result<T>;
    type IntoFuture = BoxFuture<'static, Result<T>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Replace {
                collection,
                mut document,
                exact,
            } = self;
            let seen = document.version();
            never_changed(T::META)?;
            document.touch(crate::now());
            if let Some(seen) = seen {
                document.set_version(seen.saturating_add(1));
            }
            let raw = encode(&document)?;
            let id = operand::id(document.id())?;
            let stored = replace(collection.core().clone(), id, seen, raw, exact);
            stored.await?.read(Some(document))
        }
        .boxed()
    }
}

fn replace(
    core: Core,
    id: Bson,
    seen: Option<i64>,
    raw: RawDocumentBuf,
    exact: bool,
) -> BoxFuture<'static, Result<Stored>> {
    async move {
        let core = &core;
        let meta = core.meta();
        let trace = core.trace("replace");
        let (raw, is_given) = trace
            .run(async {
                let (id, filter) = (&id, &target_filter(meta, &id, seen));
                let trace = &trace;
                core.odm().know_declarations(trace).await?;
                let mut token = None;
                let amended = amend(core, trace).replace(meta, &raw, &mut token).await?;
                let is_given = amended.is_none();
                let replacement = Replacement::new(meta, raw, amended, exact)?;
                let of = &replacement;
                let replace = |session: Option<Shared>| {
                    async move {
                        let core = core.within(session);
                        let (created, trips) = store(&core, id, seen, filter, of, trace).await?;
                        if of.is_whole {
                            trace.done(trips, 1);
                            let stored = created.map(|(name, created)| of.with(name, created));
                            return Ok(Outcome {
                                document: stored.transpose()?,
                                ..Outcome::default()
                            });
                        }
                        // Not by one command with the write: of a sharded collection it takes only what names a shard key.
                        let mut action = core.raw().find_one(doc! { "_id": id });
                        if core.session().is_none() {
                            action = action.selection_criteria(PRIMARY);
                        }
                        let stored = act!(core.session(), action).map_err(|error| core.error(error))?;
                        trace.done(trips + 1, 1);
                        Ok(Outcome {
                            document: stored,
                            ..Outcome::default()
                        })
                    }
                    .boxed()
                };
                let what = Relation::Replace {
                    filter,
                    document: &of.document,
                };
                let replaced = match Duties::of(core.odm(), [Write { meta, what }].into_iter(), token)? {
                    None => replace(core.session().cloned()).await?,
                    Some(duties) => duties.execute(core.session(), trace, &replace).await?,
                };
                Ok(match replaced.document {
                    Some(stored) => (stored, false),
                    None => (replacement.document, is_given),
                })
            })
            .await?;
        Ok(Stored {
            raw,
            is_given,
            trace,
            meta,
        })
    }
    .boxed()
}

/// The field of the time at which a document was made, where it is another one than the given.
type Created = Option<(String, Bson)>;

/// Executes a replacement. Returns the stored time at which the document was made, and the number of round trips.
///
/// # Errors
/// Where the document is not there, or has another version than this one.
async fn store(
    core: &Core,
    id: &Bson,
    seen: Option<i64>,
    filter: &bson::Document,
    replacement: &Replacement,
    trace: &Trace,
) -> Result<(Created, u64)> {
    let send = |filter: bson::Document| {
        let update = UpdateModifications::Pipeline(replacement.pipeline.clone());
        async move {
            let action = core.raw().update_one(filter, update);
            let result = act!(core.session(), action).map_err(|error| {
                let mut error = core.error(error);
                // With what it keeps of the stored document it is larger than it was when it was looked at.
                if let Error::TooLarge { largest, .. } = &mut error {
                    *largest = check::largest(&replacement.document);
                }
                error
            })?;
            Ok::<bool, Error>(result.matched_count == 1)
        }
    };
    // Nearly always the given time is the stored one; so the document is as it is given where it is found by it.
    let created = replacement.created.as_ref().filter(|_| replacement.is_whole);
    let mut by_time = filter.clone();
    by_time.extend(created.cloned());
    if send(by_time).await? {
        return Ok((None, 1));
    }
    trace.done(2, 0);
    let names = core
        .meta()
        .version()
        .into_iter()
        .chain(created.map(|(name, _)| name.as_str()));
    let stored = peek(core, id, names).await?;
    if let Some(error) = missed(core.meta(), id, seen, stored.as_ref()) {
        return Err(error);
    }
    // It came back, or to its version, in between: then it was not there as it was looked for.
    let gone = || Error::NotFound {
        collection: core.meta().collection,
        id: Box::new(id.clone()),
    };
    let Some((name, _)) = created else {
        return Err(gone());
    };
    trace.done(3, 0);
    if !send(filter.clone()).await? {
        return Err(gone());
    }
    let created = stored
        .and_then(|mut stored| stored.remove(name))
        .map(|created| (name.clone(), created));
    Ok((created, 3))
}

/// A deletion. `.await` executes it and returns [`Deleted`].
///
/// The `on_delete` rule of each reference to the document is applied, of the models that the [`Odm`](crate::Odm) was made with
/// and of the declarations in the database: `restrict` refuses the deletion before anything is deleted, also where a `cascade`
/// reaches the document; `cascade` deletes the referring document too; `nullify` and `pull` remove the reference; `keep` leaves
/// it as it is. The version and the timestamps of the referring documents don't change, except that removing a two-way
/// reference raises the version.
///
/// A document that refers to itself does not restrict its own deletion, and with [`delete_where`](Collection::delete_where) no
/// document restricts another one that the same condition deletes. A document that a cascade deletes elsewhere does restrict:
/// its deletion could not be undone.
///
/// A deletion works in batches, in the order of the ids, and deletes the document itself last: an interrupted deletion
/// continues when it is requested again. Afterwards the references are looked up again. Those that were written meanwhile are
/// treated in the same way; where one of them has `restrict`, the document is inserted again as it was, and documents that were
/// deleted before it stay deleted. In a transaction this second check follows the commit.
///
/// # Errors
/// [`Error::Conflict`] if another writer changed the document, of a type with versions; [`Error::StillReferenced`] where
/// `on_delete = restrict` refuses the deletion.
///
/// # Cost
/// Where no registered document refers to this type: one round trip; one more where a document with a version was not
/// found.
///
/// Otherwise one to read the documents (for each 200), one for each reference to them before and one after, and one to delete
/// them. For the referring documents: one for each 1,000 documents to change or to delete, and one to find the next 1,000
/// (where there are more, the first 1,000 are looked up twice). A two-way reference needs no second look; it is removed from
/// the other side in one transaction with the deletion: instead of the two looks an update, and the commit.
///
/// # Example
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let done = people.delete_where(|p| p.age.lt(18)).await?;
/// println!("{} deleted", done.deleted);
/// # Ok(()) }
/// ```
#[must_use = "a delete does nothing until it is awaited"]
#[derive(Debug)]
pub struct Delete<T: Document> {
    collection: Collection<T>,
    what: What<T>,
    collation: Option<Collation>,
}

#[derive(Debug)]
enum What<T> {
    One(Result<Bson>, Option<i64>),
    Many(Filter<T>),
}

/// The result of a delete.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
/// let done = people.delete(id).await?;
/// if done.deleted == 0 {
///     println!("there was none");
/// }
/// println!("{} other documents are deleted with it", done.cascaded);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// How many documents were deleted.
    pub deleted: u64,
    /// How many documents were deleted with them, since they refer to them with `on_delete = cascade`.
    pub cascaded: u64,
    /// How many references in other documents were removed by `on_delete = nullify`. One document may count for several
    /// references.
    pub nullified: u64,
    /// How many times references were pulled from an array of another document: `on_delete = pull`.
    pub pulled: u64,
}

impl<T: Document> Delete<T> {
    pub(crate) fn one(collection: &Collection<T>, id: Result<Bson>, seen: Option<i64>) -> Self {
        Delete {
            collection: collection.clone(),
            what: What::One(id, seen),
            collation: None,
        }
    }

    pub(crate) fn many(collection: &Collection<T>, filter: Filter<T>) -> Self {
        Delete {
            collection: collection.clone(),
            what: What::Many(filter),
            collation: None,
        }
    }

    /// Compares strings by the rules of a language, instead of by the [collation](crate::Document#document) of the collection.
    ///
    /// For documents that others refer to or derive fields from, the ids of those that match are read first, and these are
    /// deleted: one round trip more, and [`Error::Query`] where there are more than 100,000. The same applies to
    /// [`delete`](Collection::delete), which fails with [`Error::Query`] where the id matches several documents by the
    /// collation.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::mongodb::options::{Collation, CollationStrength};
    ///
    /// let ignore_case = Collation::builder().locale("en").strength(CollationStrength::Secondary).build();
    /// people.delete_where(|p| p.name.eq("KATE")).collation(ignore_case).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.collation = Some(collation);
        self
    }
}

/// Deletes the documents that fit: gives the number of round trips too.
async fn delete(
    core: &Core,
    filter: bson::Document,
    many: bool,
    collation: Option<Collation>,
) -> Result<(Deleted, u64)> {
    let meta = core.meta();
    let graph = core.odm().graph();
    graph.is_registered(meta)?;
    core.odm().may_delete(meta)?;
    if relation::has_rules(graph, meta) {
        let filter = match collation {
            Some(collation) => relation::by_collation(core, filter, collation).await?,
            None => filter,
        };
        let trips = AtomicU64::new(0);
        let scope = relation::Scope::new(core.odm(), core.session(), &trips);
        let mut done = Deleted::default();
        relation::remove(scope, meta, filter, &mut done)
            .await
            .map_err(|error| match done.deleted > 0 && core.session().is_none() {
                // Documents that were deleted before it stay deleted.
                true => error.after_a_part(meta.collection),
                false => error,
            })?;
        return Ok((done, trips.into_inner()));
    }
    let result = match many {
        true => {
            let mut action = core.raw().delete_many(filter);
            if let Some(collation) = collation {
                action = action.collation(collation);
            }
            act!(core.session(), action)
        }
        false => act!(core.session(), core.raw().delete_one(filter)),
    };
    let done = Deleted {
        deleted: result.map_err(|error| core.error(error))?.deleted_count,
        ..Deleted::default()
    };
    Ok((done, 1))
}

fn delete_one(
    core: Core,
    id: Result<Bson>,
    seen: Option<i64>,
    collation: Option<Collation>,
) -> BoxFuture<'static, Result<Deleted>> {
    async move {
        let core = &core;
        let meta = core.meta();
        let mut id = id?;
        let trace = core.trace("delete");
        trace
            .run(async {
                core.odm().know_declarations(&trace).await?;
                if let Some(collation) = collation {
                    id = relation::id_by_collation(core, id, collation).await?;
                }
                let filter = target_filter(meta, &id, seen);
                let (done, trips) = delete(core, filter, false, None).await?;
                trace.done(trips, done.deleted + done.cascaded);
                if done.deleted == 0 && seen.is_some() {
                    trace.done(trips + 1, 0);
                    let stored = peek(core, &id, meta.version()).await?;
                    if let Some(error @ Error::Conflict { .. }) = missed(meta, &id, seen, stored.as_ref()) {
                        return Err(error);
                    }
                }
                Ok(done)
            })
            .await
    }
    .boxed()
}

fn delete_where(
    core: Core,
    filter: Result<bson::Document>,
    collation: Option<Collation>,
) -> BoxFuture<'static, Result<Deleted>> {
    async move {
        let filter = filter?;
        let trace = core.trace("delete_where");
        trace.values("filter", &filter);
        trace
            .run(async {
                core.odm().know_declarations(&trace).await?;
                let (done, trips) = delete(&core, filter, true, collation).await?;
                trace.done(trips, done.deleted + done.cascaded);
                Ok(done)
            })
            .await
    }
    .boxed()
}

impl<T: Document> IntoFuture for Delete<T> {
    type Output = Result<Deleted>;
    type IntoFuture = BoxFuture<'static, Result<Deleted>>;

    fn into_future(self) -> Self::IntoFuture {
        let core = self.collection.core().clone();
        match self.what {
            What::One(id, seen) => delete_one(core, id, seen, self.collation),
            What::Many(filter) => delete_where(core, filter.into_document(), self.collation),
        }
    }
}
