//! Writes of one document: inserts, replacements, deletions; and deletions of many.

use crate::api::bulk_write::{
    BulkPart, bulk_writes, may_have_collation, sealed::IntoPart, takes_no_collation,
};
use crate::api::by_key::{DocumentByKey, by_id};
use crate::api::encoded::{encode, encoded, is_cut};
use crate::api::optional::writes_one;
use crate::engine::{self, DocumentById, WriteKind, WriteOperation};
use crate::model::document::{DocumentMeta, Versioned};
use crate::plan::operators::never_changed;
use crate::plan::operators::patch::etag::{Etag, IfMatch};
use crate::plan::upsert::values_of;
use crate::query::get::at;
use crate::store::core::Core;
use crate::store::options::configured;
use crate::store::trace::Trace;
use crate::{Deleted, Document, Error, Filter, Fresh, Result, model::encode::id, store::decode};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, RawDocumentBuf, doc};
use mongodb::options::Collation;
use std::future::IntoFuture;
use std::marker::PhantomData;

/// One document to insert. `.await` executes the insert and returns the document as it is stored.
///
/// The documents that it refers to are looked up before it is inserted, and again afterwards: if one has been deleted
/// meanwhile, the new document is deleted again. With a two-way reference the other side is written too, in one transaction
/// with the insert where the deployment has transactions. Without them these are separate writes: a crash between them leaves a
/// link on one side, which [`audit`](crate::Odm::audit) finds and [`repair`](crate::Odm::repair) completes or takes out.
///
/// # Errors
/// [`Error::Invalid`] and [`Error::TooLarge`] before anything is sent, [`Error::DuplicateKey`] from the server.
/// [`Error::MissingReference`] where a document that it refers to does not exist; from the other side of a two-way reference
/// [`Error::ArrayFull`], and [`Error::Query`] where a document there would lose a required reference. [`Error::Decode`] where the
/// stored document, with the copies that it got, can't be decoded as its struct: it has been inserted then.
///
/// # Cost
/// One round trip. One before and one after for each collection (and field in it) that it refers to; outside of a transaction
/// these run at once. With two-way references one for each collection on the other side and one for the commit, and one more
/// for each such collection with single references, to read their previous values.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, new: NewPerson) -> odm::Result<()> {
/// let kate = people.insert(new).await?;
/// # Ok(()) }
/// ```
#[must_use = "an insert does nothing until it is awaited"]
#[derive(Debug)]
pub struct Insert<T: Document> {
    pub(crate) core: Core,
    pub(crate) document: Fresh<T>,
}

configured!(WriteOptions for
    core of [T: Document] Insert<T>;
    core of [T: Document] Replace<T>;
    core of [T: Document] Delete<T>;
    core of [T: Document] DeleteMany<T>;
);

at!(core of Delete<T>;);

bulk_writes!(Insert, Replace, Delete, DeleteMany);

impl<T: Document> Insert<T> {
    pub(crate) fn new(core: Core, document: Fresh<T>) -> Self {
        Insert { core, document }
    }
}

impl<T: Document> IntoFuture for Insert<T> {
    type Output = Result<T>;
    type IntoFuture = BoxFuture<'static, Result<T>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::into_pin(Box::new(async move {
            let Insert { core, document } = self;
            let (document, raw) = encoded(document)?;
            insert(core, raw).await?.read(document)
        }))
    }
}

impl<T: Document> IntoPart for Insert<T> {
    fn into_part(self) -> BulkPart {
        BulkPart {
            core: self.core,
            what: encoded(self.document).map(|(_, raw)| WriteKind::Insert(raw)),
        }
    }
}

/// A document that was written, as it is stored.
pub(crate) struct Stored {
    raw: RawDocumentBuf,
    /// Whether it is as the caller gave it.
    is_given: bool,
    trace: Trace,
    meta: &'static DocumentMeta,
}

impl Stored {
    /// A document that was stored as it is here.
    pub(crate) fn of(core: &Core, raw: RawDocumentBuf) -> Stored {
        Stored {
            raw,
            is_given: false,
            trace: core.trace("replace"),
            meta: core.meta(),
        }
    }

    /// In its type: the given one, where that is as it is stored.
    pub(crate) fn read<T: Document>(self, given: Option<T>) -> Result<T> {
        match given {
            Some(given) if self.is_given => Ok(given),
            _ => decode::decode(self.meta, &self.raw).inspect_err(|error| self.trace.failed(error)),
        }
    }
}

pub(crate) fn insert(core: Core, raw: RawDocumentBuf) -> BoxFuture<'static, Result<Stored>> {
    async move {
        let meta = core.meta();
        let trace = core.trace("insert");
        let operation = WriteOperation::one(meta, WriteKind::Insert(raw));
        let made = engine::execute(core.cx(&trace), operation);
        let mut outcome = trace.run(made).await?;
        Ok(Stored {
            raw: outcome.stored.pop().unwrap_or_default(),
            is_given: !outcome.is_filled_in,
            trace,
            meta,
        })
    }
    .boxed()
}

/// A whole document that replaces the one with its id. `.await` executes the replacement and returns the document as it is
/// stored.
///
/// It replaces the fields that the type declares, and keeps the others: a field that another program, or a later version of
/// this one, has added to the document stays, at the top and in embedded structs. A declared field that the document leaves out
/// (an `Option` with `skip_serializing_if`) is removed, and so is its previous name (an `alias`). `created_at` of
/// `#[document(timestamps)]` stays as it is stored.
///
/// These values are replaced as a whole: arrays with their items, maps, opaque fields, untagged enums, an enum that has become
/// another variant, a struct with `#[serde(deny_unknown_fields)]`, which could not be decoded with other fields, and values
/// below twelve nested structs. A tagged enum of the same variant keeps fields that it does not declare.
///
/// # Errors
/// As [`Collection::replace`](crate::Collection::replace) says.
///
/// # Cost
/// As [`Collection::replace`](crate::Collection::replace) says.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(accounts: Collection<Account>, mut account: Account) -> odm::Result<()> {
/// account.cents += 100;
/// let account = accounts.replace(account).await?;
/// # Ok(()) }
/// ```
#[must_use = "a replacement does nothing until it is awaited"]
#[derive(Debug)]
pub struct Replace<T: Document> {
    core: Core,
    document: T,
    exact: bool,
}

impl<T: Document> Replace<T> {
    pub(crate) fn new(core: Core, document: T) -> Self {
        Replace {
            core,
            document,
            exact: false,
        }
    }

    /// Replaces the whole document: only the id and the fields that the library maintains (links, derived fields, snapshots)
    /// are kept. `created_at` becomes the document's.
    ///
    /// ```no_run
    /// # use samples::model::*;
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
        Box::into_pin(Box::new(async move {
            let Replace {
                core,
                mut document,
                exact,
            } = self;
            let of = replacement(&mut document, exact)?;
            if const { is_cut::<T>() } {
                document = decode::decode(T::META, of.stored())?;
            }
            match replace(core, of).await? {
                Some(stored) => stored.read(None),
                None => Ok(document),
            }
        }))
    }
}

/// The write that stores this document, which gets its new version and times.
fn replacement<T: Document>(document: &mut T, exact: bool) -> Result<engine::ReplaceWrite> {
    let seen = document.version();
    never_changed(T::META)?;
    document.touch(crate::now());
    if let Some(seen) = seen {
        document.set_version(seen.saturating_add(1));
    }
    let raw = encode(document)?;
    let one = DocumentById::new(id(document.id())?, seen);
    Ok(engine::ReplaceWrite::new(one, raw, exact))
}

impl<T: Document> IntoPart for Replace<T> {
    fn into_part(mut self) -> BulkPart {
        let replace = replacement(&mut self.document, self.exact);
        BulkPart {
            core: self.core,
            what: replace.map(|replace| WriteKind::Replace(Box::new(replace))),
        }
    }
}

pub(crate) fn replace(
    core: Core,
    replace: engine::ReplaceWrite,
) -> BoxFuture<'static, Result<Option<Stored>>> {
    async move {
        let meta = core.meta();
        let trace = core.trace("replace");
        let operation = WriteOperation::one(meta, WriteKind::Replace(Box::new(replace)));
        let made = engine::execute(core.cx(&trace), operation);
        let outcome = trace.run(made).await?;
        Ok(outcome.document.map(|raw| Stored {
            raw,
            is_given: false,
            trace,
            meta,
        }))
    }
    .boxed()
}

/// A deletion of one document. `.await` executes it and returns [`Deleted`].
///
/// The `on_delete` rules of references to it are applied, as [`DeleteMany`] says.
///
/// # Errors
/// [`Error::NotFound`] where there is none, or it is deleted already and kept: [`optional`](Delete::optional) gives `None` then.
/// [`Error::Conflict`] if another writer changed the document, of a type with versions; [`Error::StillReferenced`] where
/// `on_delete = restrict` refuses the deletion.
///
/// # Cost
/// That of [`DeleteMany`]; one round trip more where a document with a version was not found.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
/// people.delete(id).await?;
/// # Ok(()) }
/// ```
#[must_use = "a delete does nothing until it is awaited"]
#[derive(Debug)]
pub struct Delete<T: Document> {
    core: Core,
    which: DeletionTarget,
    collation: Option<Collation>,
    of: PhantomData<fn() -> T>,
}

/// The document that a deletion is for.
#[derive(Debug)]
enum DeletionTarget {
    Id(Result<Bson>, Option<i64>),
    /// By a unique key.
    Key(DocumentByKey),
    /// One that is deleted already, to be removed for good.
    Purge(Result<Bson>),
}

impl<T: Document> Delete<T> {
    pub(crate) fn new(core: Core, id: Result<Bson>, seen: Option<i64>) -> Self {
        Delete::of(core, DeletionTarget::Id(id, seen))
    }

    pub(crate) fn by_key(core: Core, key: DocumentByKey) -> Self {
        Delete::of(core, DeletionTarget::Key(key))
    }

    pub(crate) fn purge(core: Core, id: Result<Bson>) -> Self {
        Delete::of(core, DeletionTarget::Purge(id))
    }

    fn of(core: Core, which: DeletionTarget) -> Self {
        Delete {
            core,
            which,
            collation: None,
            of: PhantomData,
        }
    }

    /// Deletes the document only if it has this version: as a deletion that is given a document as it was read.
    ///
    /// # Errors
    /// [`Error::Conflict`] where it has another one. [`Error::Query`] for a deletion by a unique key.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::patch::Versioned + odm::write::Deletable>(all: Collection<T>, id: Ref<T>) -> odm::Result<()> {
    /// all.delete(id).if_version(7).await?;
    /// # Ok(()) }
    /// ```
    pub fn if_version(self, version: i64) -> Self
    where
        T: Versioned,
    {
        self.if_match(Etag::from(version))
    }

    /// The same by the header `If-Match` of a request.
    ///
    /// # Errors
    /// As [`if_version`](Delete::if_version). For `*`, as without it, [`Error::NotFound`] where there is no such document.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::patch::Versioned + odm::write::Deletable>(all: Collection<T>, id: Ref<T>, header: &str) -> odm::Result<()> {
    /// all.delete(id).if_match(odm::patch::IfMatch::parse(header)).await?;
    /// # Ok(()) }
    /// ```
    pub fn if_match(mut self, condition: impl Into<IfMatch>) -> Self
    where
        T: Versioned,
    {
        self.which = match self.which {
            DeletionTarget::Id(id, _) => DeletionTarget::Id(id, condition.into().version()),
            DeletionTarget::Key(_) | DeletionTarget::Purge(_) => DeletionTarget::Id(
                Err(Error::Query {
                    collection: T::META.collection,
                    message: "only a deletion by the id compares a version: read the document by `get_by`, and give it to `delete`"
                        .to_owned(),
                }),
                None,
            ),
        };
        self
    }

    /// Compares an id that is a string by the rules of a language, instead of by the [collation](crate::Document#document) of the
    /// collection. For documents that others refer to or derive fields from, the stored id is read first: one round trip more.
    ///
    /// # Errors
    /// [`Error::Query`] where the id matches several documents by the collation.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
    /// use odm::mongodb::options::Collation;
    ///
    /// accounts.delete(&7).collation(Collation::builder().locale("en").build()).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.collation = Some(collation);
        self
    }
}

writes_one! {
    Delete<T>, T => Deleted;
    Replace<T>, T => T;
}

/// A deletion of every document that matches a condition. `.await` executes it and returns [`Deleted`].
///
/// The `on_delete` rule of each reference to the document is applied, of the models that the [`Odm`](crate::Odm) was made with
/// and of the declarations in the database: `restrict` refuses the deletion before anything is deleted, also where a `cascade`
/// reaches the document; `cascade` deletes the referring document too; `nullify` and `pull` remove the reference; `keep` leaves
/// it as it is. The version and the timestamps of the referring documents don't change, except that removing a two-way
/// reference raises the version.
///
/// Of a type with `#[document(soft_delete)]` a deletion keeps the documents, and stores its time in them:
/// [`Collection::restore`](crate::Collection::restore) says more.
///
/// A document that refers to itself does not restrict its own deletion, and with [`delete_where`](crate::Collection::delete_where) no
/// document restricts another one that the same condition deletes. A document that a cascade deletes elsewhere does restrict:
/// its deletion could not be undone.
///
/// A deletion works in batches, in the order of the ids, and deletes the document itself last: an interrupted deletion
/// continues when it is requested again. Afterwards the references are looked up again. Those that were written meanwhile are
/// treated in the same way; where one of them has `restrict`, the document is inserted again as it was, and documents that were
/// deleted before it stay deleted. In a transaction this second check follows the commit.
///
/// # Errors
/// [`Error::StillReferenced`] where `on_delete = restrict` refuses the deletion: then none is deleted.
///
/// # Cost
/// Where no registered document refers to this type: one round trip.
///
/// Otherwise one to read the documents (for each 200), one for each reference to them before and one after, and one to delete
/// them. For the referring documents: one for each 1,000 documents to change or to delete, and one to find the next 1,000
/// (where there are more, the first 1,000 are looked up twice). A two-way reference needs no second look; it is removed from
/// the other side in one transaction with the deletion: instead of the two looks an update, and the commit.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let done = people.delete_where(|p| p.age.lt(18)).await?;
/// println!("{} deleted", done.deleted);
/// # Ok(()) }
/// ```
#[must_use = "a delete does nothing until it is awaited"]
#[derive(Debug)]
pub struct DeleteMany<T: Document> {
    core: Core,
    filter: Filter<T>,
    /// Whether deleted documents are removed for good.
    purges: bool,
    collation: Option<Collation>,
    hint: Option<String>,
}

impl<T: Document> DeleteMany<T> {
    pub(crate) fn new(core: Core, filter: Filter<T>) -> Self {
        DeleteMany {
            core,
            filter,
            purges: false,
            collation: None,
            hint: None,
        }
    }

    pub(crate) fn purge(core: Core, filter: Filter<T>) -> Self {
        DeleteMany {
            purges: true,
            ..DeleteMany::new(core, filter)
        }
    }

    /// Compares strings by the rules of a language, instead of by the [collation](crate::Document#document) of the collection.
    ///
    /// For documents that others refer to or derive fields from, the ids of those that match are read first, and these are
    /// deleted: one round trip more, and [`Error::Query`] where there are more than 100,000.
    ///
    /// ```no_run
    /// # use samples::model::*;
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

    /// Makes the server use the index of this name for the condition of a [`delete_where`](crate::Collection::delete_where). The
    /// server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.delete_where(|p| p.email.starts_with("kate@")).hint("email_1").await?;
    /// # Ok(()) }
    /// ```
    pub fn hint(mut self, index: impl Into<String>) -> Self {
        self.hint = Some(index.into());
        self
    }
}

/// Executes a deletion: of the one document that a key names, or of those that match.
fn delete(
    core: Core,
    operation: &'static str,
    delete: Result<(engine::DeleteWrite, Option<bson::Document>)>,
) -> BoxFuture<'static, Result<Deleted>> {
    async move {
        let (delete, one) = delete?;
        let trace = core.trace(operation);
        trace.values(core.meta(), "filter", &delete.filter);
        let meta = core.meta();
        let operation = WriteOperation::one(meta, WriteKind::Delete(Box::new(delete)));
        let deleted = async {
            let deleted = Deleted::from(engine::execute(core.cx(&trace), operation).await?);
            match one {
                Some(key) if deleted.deleted == 0 => {
                    Err(engine::nothing_deleted(core.cx(&trace), meta.collection, key).await)
                }
                _ => Ok(deleted),
            }
        };
        trace.run(deleted).await
    }
    .boxed()
}

/// The deleted documents among those that match, of a type whose deletions keep them.
fn deleted_of(meta: &DocumentMeta, filter: bson::Document) -> bson::Document {
    match meta.soft_delete {
        Some(name) => doc! { "$and": [filter, { name: { "$ne": null } }] },
        None => filter,
    }
}

/// The deletion of one document: how it is called in traces, what it sends, and the key of which errors tell.
fn of_one(
    core: &Core,
    which: DeletionTarget,
    mut collation: Option<Collation>,
) -> (&'static str, Result<(engine::DeleteWrite, bson::Document)>) {
    let meta = core.meta();
    let (operation, made) = match which {
        DeletionTarget::Id(id, seen) => {
            let one = by_id(core, id, seen);
            let made = one.map(|one| {
                let key = one.key(meta);
                (engine::DeleteWrite::one(meta, one), key)
            });
            ("delete", made)
        }
        DeletionTarget::Key(key) => {
            let names = key.names.clone();
            let found = key.for_write(core, collation.take()).and_then(|(filter, own)| {
                collation = own;
                let filter = filter.into_document()?;
                let key = values_of(&names, &filter);
                Ok((engine::DeleteWrite::many(filter), key))
            });
            ("delete_by", found)
        }
        DeletionTarget::Purge(id) => {
            let made = by_id(core, id, None).map(|one| {
                let filter = deleted_of(meta, one.place());
                (purging(filter), one.key(meta))
            });
            ("purge", made)
        }
    };
    let made = made.map(|(made, key)| (engine::DeleteWrite { collation, ..made }, key));
    (operation, made)
}

impl<T: Document> IntoFuture for Delete<T> {
    type Output = Result<Deleted>;
    type IntoFuture = BoxFuture<'static, Result<Deleted>>;

    fn into_future(self) -> Self::IntoFuture {
        let (operation, made) = of_one(&self.core, self.which, self.collation);
        delete(self.core, operation, made.map(|(made, key)| (made, Some(key))))
    }
}

impl<T: Document> IntoPart for Delete<T> {
    fn into_part(self) -> BulkPart {
        let may = takes_no_collation(T::META, self.collation.is_some());
        let made = may.and_then(|()| of_one(&self.core, self.which, None).1);
        BulkPart {
            core: self.core,
            what: made.map(|(delete, _)| WriteKind::Delete(Box::new(delete))),
        }
    }
}

impl<T: Document> DeleteMany<T> {
    /// The collection, how the deletion is called in traces, and what it sends.
    fn made(self) -> (Core, &'static str, Result<engine::DeleteWrite>) {
        let filter = self.filter.into_document();
        let (operation, made) = if self.purges {
            (
                "purge_where",
                filter.map(|filter| purging(deleted_of(T::META, filter))),
            )
        } else {
            ("delete_where", filter.map(engine::DeleteWrite::many))
        };
        let made = made.map(|made| engine::DeleteWrite {
            collation: self.collation,
            hint: self.hint,
            ..made
        });
        (self.core, operation, made)
    }
}

impl<T: Document> IntoFuture for DeleteMany<T> {
    type Output = Result<Deleted>;
    type IntoFuture = BoxFuture<'static, Result<Deleted>>;

    fn into_future(self) -> Self::IntoFuture {
        let (core, operation, made) = self.made();
        delete(core, operation, made.map(|made| (made, None)))
    }
}

impl<T: Document> IntoPart for DeleteMany<T> {
    fn into_part(self) -> BulkPart {
        let may = may_have_collation(&self.core, self.collation.is_some());
        let (core, _, made) = self.made();
        BulkPart {
            core,
            what: may.and(made).map(|delete| WriteKind::Delete(Box::new(delete))),
        }
    }
}

fn purging(filter: bson::Document) -> engine::DeleteWrite {
    engine::DeleteWrite {
        removes: true,
        ..engine::DeleteWrite::many(filter)
    }
}
