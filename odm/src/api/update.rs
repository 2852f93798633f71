//! Updates of one document and of many, with the bounds that prevent them.

use crate::api::bulk_write::{
    BulkPart, bulk_writes, may_have_collation, refused, sealed::IntoPart, takes_no_collation,
};
use crate::api::by_key::{DocumentByKey, by_id};
use crate::api::encoded::encoded;
use crate::api::optional::writes_one;
use crate::engine::first::FirstMatch;
use crate::engine::{self, Outcome, Reply, Selection, WriteKind, WriteOperation};
use crate::model::document::Versioned;
use crate::model::path::{Codec, Path, Single, Writable};
use crate::plan::operators::change::Change;
use crate::plan::operators::patch::etag::{Etag, IfMatch};
use crate::plan::operators::{Built, Changes, UntypedChanges};
use crate::query::filter::operand::Operand;
use crate::query::get::at;
use crate::store::core::Core;
use crate::store::decode;
use crate::store::options::configured;
use crate::{Document, Error, Filter, Insertable, Result};
use futures::future::BoxFuture;
use futures::future::FutureExt;
use futures::future::TryFutureExt;
use mongodb::bson::{Bson, RawDocumentBuf};
use mongodb::options::{Collation, ReturnDocument};
use std::future::IntoFuture;
use std::marker::PhantomData;

/// The result of an update.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let done = people.update_where(|p| p.age.lt(18)).add_to_set(|p| p.tags, "minor").await?;
/// println!("{} fitted, {} are changed, {} are full", done.matched, done.modified, done.refused);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Updated {
    /// How many documents fitted the condition, but for those that are [`refused`](Updated::refused).
    pub matched: u64,
    /// How many of them have other values now. An update that only changes or removes items of arrays does not change a
    /// document without such items, nor its version and its timestamps; an [upsert](Update::upsert) does. Where the write adds
    /// pending work to each document (for copies that are updated later), or records itself there (for two-way references),
    /// documents that already had the new values are counted too.
    pub modified: u64,
    /// The id of the document that an upsert inserted.
    pub upserted: Option<Bson>,
    /// How many documents matched the condition, but stayed as they are because a bound did not allow the change (a full
    /// array), or because a field to add something to is `null`. They are counted just before the update; only the check of the
    /// bound itself is atomic with it. 0 where the condition has `near`, which MongoDB does not count. Documents where the
    /// range of an integer type did not allow the change are included with [`count_refused`](UpdateMany::count_refused).
    pub refused: u64,
    /// The number of other documents in which copies, or fields that are derived from these documents, were updated.
    pub copies_updated: u64,
}

/// A change of one document. The methods of [`Change`] say what changes; `.await` executes the update and returns [`Updated`].
/// Without any change the document is looked up, and nothing is written.
///
/// The targets of added references are looked up before the change, and again afterwards: if one has been deleted meanwhile,
/// the references get their previous values again, while other changes stay. References that the document already has are not
/// checked. A change of a two-way reference writes the other side too, in one transaction where the deployment has
/// transactions: `set` of a single reference removes the link from the document that had it before. An array of two-way
/// references is a set: a reference that is pushed twice is stored once.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`], [`Error::ArrayFull`], [`Error::IsNull`], [`Error::OtherVariant`],
/// [`Error::Invalid`], [`Error::DuplicateKey`], [`Error::TooLarge`]; [`Error::Query`] where two changes of one field can't be one update.
/// [`Error::MissingReference`] where the target of an added reference does not exist; from the other side of a two-way
/// reference [`Error::ArrayFull`], and [`Error::Query`] where a document there would lose a required reference.
/// [`Error::Unsupported`] for a raw operator on a two-way reference where the deployment has no transactions and the result
/// can't be predicted.
///
/// # Cost
/// One round trip, also without any change; one more to find out why, where a bound or the version held it back; where the document
/// would pass 16 MiB, one that reads the
/// whole of it to name its largest fields (none within a transaction). A change that adds references: one before for their
/// previous values, and one before and one after for each collection that they name. A change of two-way references: one after for
/// each collection on the other side, one for the commit; two more where single references are taken over from other documents,
/// to find those and to remove the links there; and one after the change where its result can't be predicted. On a standalone server:
/// one before for their previous values, and no commit.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// let done = people.update(kate.id).set(|p| p.name, "Kate Monster").await?;
/// assert_eq!(done.matched, 1);
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct Update<T: Document> {
    core: Core,
    which: UpdateTarget,
    changes: Changes<T>,
    upsert: bool,
    collation: Option<Collation>,
}

/// A document without its id.
fn without_id(document: RawDocumentBuf) -> Result<RawDocumentBuf> {
    let mut rest = RawDocumentBuf::new();
    for field in &document {
        let (name, value) = field.map_err(|source| Error::Encode {
            field: "_id".to_owned(),
            source: Box::new(source),
        })?;
        if name.as_str() != "_id" {
            rest.append(name, value.to_owned());
        }
    }
    Ok(rest)
}

/// The document that an update changes.
#[derive(Debug)]
enum UpdateTarget {
    /// By its id, and by its version where the application has read one.
    Id(Result<Bson>, Option<i64>),
    /// By a unique key.
    Key(Box<DocumentByKey>),
}

configured!(WriteOptions for
    core of [T: Document] Update<T>;
    update.core of [T: Document] Upsert<T>;
    update.core of [T: Document] Returning<T>;
    update.core of [T: Document] Returning<T, Option<T>>;
    core of [T: Document] UpdateMany<T>;
);

at!(core of Update<T>; update.core of Upsert<T>; update.core of Returning<T>; update.core of Returning<T, Option<T>>;);

bulk_writes!(Update, Upsert, UpdateMany);

impl<T: Document> Change<T> for Update<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.changes
    }
}

impl<T: Document> Update<T> {
    pub(crate) fn new(core: Core, id: Result<Bson>, seen: Option<i64>) -> Self {
        Update {
            core,
            which: UpdateTarget::Id(id, seen),
            changes: Changes::new(),
            upsert: false,
            collation: None,
        }
    }

    pub(crate) fn by_key(core: Core, key: DocumentByKey) -> Self {
        Update {
            core,
            which: UpdateTarget::Key(Box::new(key)),
            changes: Changes::new(),
            upsert: false,
            collation: None,
        }
    }

    /// Changes the document only if it has this version: as an update that is given a document as it was read.
    ///
    /// # Errors
    /// [`Error::Conflict`] where it has another one. [`Error::Query`] for an update by a unique key, which has no version to
    /// compare: read the document by [`get_by`](crate::Collection::get_by), and give it to `update`.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::patch::Versioned>(all: Collection<T>, id: Ref<T>) -> odm::Result<()> {
    /// match all.update(id).if_version(7).await {
    ///     Err(Error::Conflict { found, .. }) => println!("it has the version {found:?} now"),
    ///     other => println!("{other:?}"),
    /// }
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
    /// As [`if_version`](Update::if_version). For `*` [`Error::NotFound`] where there is no such document; an
    /// [`upsert`](Update::upsert) inserts it nevertheless.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example<T: odm::patch::Versioned>(all: Collection<T>, id: Ref<T>, header: &str) -> odm::Result<()> {
    /// use odm::patch::IfMatch;
    ///
    /// all.update(id).if_match(IfMatch::parse(header)).await?;
    /// # Ok(()) }
    /// ```
    pub fn if_match(mut self, condition: impl Into<IfMatch>) -> Self
    where
        T: Versioned,
    {
        self.which = match self.which {
            UpdateTarget::Id(id, _) => UpdateTarget::Id(id, condition.into().version()),
            UpdateTarget::Key(_) => UpdateTarget::Id(
                Err(Error::Query {
                    collection: T::META.collection,
                    message: "an update by a unique key compares no version: read the document by `get_by`, and give it to \
                              `update`"
                        .to_owned(),
                }),
                None,
            ),
        };
        self
    }

    /// Gives a field of the shard key another value, or one that is the same in other documents (`same`): the one way to
    /// change it. It can stand beside other changes.
    ///
    /// The document is moved in a transaction, which names its whole previous key. Its copies, counts and claims follow as after any
    /// update; copies of the key itself do so in the transaction. What its own references with `same` name has to have the new value.
    /// No document may refer to it by `same` with the previous one, not one that is deleted and kept either: change or delete those
    /// references first. A write that refers to it at the same time is seen by a second look after the commit, and moves it back.
    ///
    /// # Errors
    /// Besides those of the update: [`Error::StillReferenced`] where a document refers to it by `same`, or has a copy of the field in its own
    /// shard key; [`Error::MissingReference`] for a reference of its own with `same`; [`Error::OutOfScope`] for a field of the handle's
    /// scope; [`Error::Unsupported`] on a standalone server; [`Error::Query`] for another field, in a bulk and in an upsert, and where more
    /// documents have copies of the key than one transaction changes ([`FanOut`](crate::references::FanOut)).
    ///
    /// # Cost
    /// That of the update in a transaction, and one round trip to read the document; for each reference to it with `same` one before and
    /// one after; for its own with `same` one for each collection before, two after.
    ///
    /// # Example
    /// ```no_run
    /// # use odm::prelude::*;
    /// # #[derive(Document, Clone, Debug)]
    /// # #[document(collection = "orders", shard_key(tenant, id))]
    /// # struct Order { id: ObjectId, tenant: i64, total: i64 }
    /// # async fn example(orders: Collection<Order>, id: ObjectId) -> odm::Result<()> {
    /// orders.update(id).at(|o| o.tenant, 7).move_to(|o| o.tenant, 8).await?;
    /// # Ok(()) }
    /// ```
    pub fn move_to<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        self.changes.untyped.moves(P::PATH);
        self.set(field, value)
    }

    /// Its parts: the collection, the condition that finds the document, the collation and the changes.
    pub(super) fn into_parts(self) -> (Core, Filter<T>, Option<Collation>, Changes<T>) {
        let Update {
            core,
            which,
            changes,
            collation,
            ..
        } = self;
        let of = match which {
            UpdateTarget::Id(id, seen) => {
                let one = by_id(&core, id, seen);
                one.map(|one| (Filter::raw(one.filter(T::META)), collation))
            }
            UpdateTarget::Key(key) => key.for_write(&core, collation),
        };
        let (document, collation) = of.unwrap_or_else(|error| (Filter::of(Err(error)), None));
        (core, document.for_documents_of(), collation, changes)
    }

    /// Compares an id that is a string by the rules of a language, instead of by the [collation](crate::Document#document) of the
    /// collection: the stored id is looked up first.
    ///
    /// # Errors
    /// [`Error::Query`] where the id matches several documents by the collation.
    ///
    /// # Cost
    /// One round trip more.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
    /// use odm::mongodb::options::Collation;
    ///
    /// accounts.update(&7).set(|a| a.cents, 0).collation(Collation::builder().locale("en").build()).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.collation = Some(collation);
        self
    }

    /// Inserts a document with this id and these changes if there is none.
    ///
    /// [`Error::Query`] where that document would lack a required field, so that it could not be read: before anything is sent, and also
    /// where the document is there, which is not known before. `set_on_insert` gives a field its value in a new document alone,
    /// [`upsert_with`](Update::upsert_with) all of them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, owner: ObjectId) -> odm::Result<()> {
    /// let done = accounts.update(&7).set(|a| a.owner, owner).set(|a| a.cents, 0).upsert().await?;
    /// if done.upserted.is_some() {
    ///     println!("a new account");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn upsert(mut self) -> Upsert<T>
    where
        T: Insertable<T>,
    {
        self.upsert = true;
        Upsert { update: self }
    }

    /// As [`upsert`](Update::upsert), and what is inserted is this document, with the changes: the fields that the update changes have what
    /// it makes of missing ones, all others the values of the document, the other parts of a struct or map among them. Its id is that
    /// of the update, or by a unique key that of the document.
    ///
    /// The document is checked before anything is sent, as in an insertion.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, owner: ObjectId) -> odm::Result<()> {
    /// let new = NewAccount { id: 7, owner, cents: 0 };
    /// accounts.update(&7).inc(|a| a.cents, 500).upsert_with(new).await?;
    /// # Ok(()) }
    /// ```
    pub fn upsert_with(mut self, new: impl Insertable<T>) -> Upsert<T>
    where
        T: Insertable<T>,
    {
        let new = encoded(new.fresh(crate::now())).map(|(_, raw)| raw);
        self.changes.untyped.insert_whole(match self.which {
            UpdateTarget::Key(_) => new,
            _ => new.and_then(without_id),
        });
        self.upsert()
    }

    /// Gives the document as it is after the change.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
    /// let kate = people.update(id).inc(|p| p.age, 1).returning().await?;
    /// println!("{} is {} now", kate.name, kate.age);
    /// # Ok(()) }
    /// ```
    pub fn returning(self) -> Returning<T> {
        Returning::new(self, ReturnDocument::After)
    }

    /// Gives the document as it was before the change.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
    /// let before = people.update(id).set(|p| p.nickname, "Katie").returning_before().await?;
    /// # Ok(()) }
    /// ```
    pub fn returning_before(self) -> Returning<T> {
        Returning::new(self, ReturnDocument::Before)
    }

    /// The same, without its type.
    fn untyped(self, reply: Reply) -> UntypedUpdate {
        UntypedUpdate {
            core: self.core,
            which: self.which,
            changes: self.changes.untyped,
            upsert: self.upsert,
            collation: self.collation,
            reply,
        }
    }
}

/// An update that inserts the document if there is none: [`Update::upsert`]. `.await` executes it and returns [`Updated`].
///
/// # Errors
/// Those of [`Update`], but for [`Error::NotFound`].
///
/// # Cost
/// As [`Update`].
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(accounts: Collection<Account>, owner: ObjectId) -> odm::Result<()> {
/// let account = accounts.update(&7).set(|a| a.owner, owner).set(|a| a.cents, 0).upsert().returning().await?;
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct Upsert<T: Document> {
    update: Update<T>,
}

impl<T: Document> Change<T> for Upsert<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.update.changes
    }
}

impl<T: Document> Upsert<T> {
    /// Gives the document as it is afterwards.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, new: NewAccount) -> odm::Result<()> {
    /// let account = accounts.update(&7).inc(|a| a.cents, 500).upsert_with(new).returning().await?;
    /// # Ok(()) }
    /// ```
    pub fn returning(self) -> Returning<T> {
        self.update.returning()
    }

    /// Gives the document as it was before the change, `None` where it is inserted.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, new: NewAccount) -> odm::Result<()> {
    /// let before = accounts.update(&7).inc(|a| a.cents, 500).upsert_with(new).returning_before().await?;
    /// println!("{}", if before.is_none() { "a new account" } else { "it was there" });
    /// # Ok(()) }
    /// ```
    pub fn returning_before(self) -> Returning<T, Option<T>> {
        Returning::new(self.update, ReturnDocument::Before)
    }
}

impl<T: Document> IntoFuture for Upsert<T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'static, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        self.update.into_future()
    }
}

writes_one! {
    Update<T>, T => Updated;
    Returning<T>, T => T;
}

/// An update of one document, without its type.
struct UntypedUpdate {
    core: Core,
    which: UpdateTarget,
    changes: UntypedChanges,
    upsert: bool,
    collation: Option<Collation>,
    reply: Reply,
}

/// An update that is built.
enum Made {
    Id(WriteKind),
    Key(Box<(FirstMatch, Built, Reply)>),
}

impl UntypedUpdate {
    /// The collection, and the update for the engine.
    fn made(self) -> (Core, Result<Made>) {
        let UntypedUpdate {
            core,
            which,
            changes,
            upsert,
            collation,
            reply,
        } = self;
        let made = || match which {
            UpdateTarget::Id(id, seen) => {
                let meta = core.meta();
                let built = changes.build_for(meta, upsert, crate::now())?;
                let mut update =
                    engine::UpdateWrite::new(core.odm(), meta, by_id(&core, id, seen)?, built, upsert)?;
                update.collation = collation;
                update.reply = reply;
                Ok(Made::Id(WriteKind::Update(Box::new(update))))
            }
            UpdateTarget::Key(key) => by_key(&core, *key, (changes, upsert, collation), reply),
        };
        let made = made();
        (core, made)
    }
}

/// # Errors
/// [`Error::Query`] where the condition demands no unique key, and where the document can't be returned.
fn by_key(
    core: &Core,
    key: DocumentByKey,
    (changes, upsert, collation): (UntypedChanges, bool, Option<Collation>),
    reply: Reply,
) -> Result<Made> {
    let refused = |message: &str| refused(core.meta(), message);
    if upsert && !matches!(reply, Reply::Counts) {
        return Err(refused(
            "an upsert by a unique key gives counts: read the document by `get_by` afterwards, or use `insert(…).or_get_by(…)`",
        ));
    }
    let names = key.names.clone();
    let (key, collation) = key.for_write(core, collation)?;
    if upsert {
        let update = UntypedMany::by_key(core, (key, collation), changes, upsert);
        return update.made().map(Made::Id);
    }
    let built = changes.build_for(core.meta(), upsert, crate::now())?;
    let first = FirstMatch {
        condition: key.into_document()?,
        by: Selection {
            collation,
            ..Selection::default()
        },
        key: Some(names),
    };
    Ok(Made::Key(Box::new((first, built, reply))))
}

/// Executes an update, which is built before, so that the future holds neither the changes nor what builds them.
// As an `async fn` its future would hold the arguments twice.
#[allow(clippy::manual_async_fn)]
fn execute(
    (core, made): (Core, Result<Made>),
    operation: &'static str,
) -> impl Future<Output = Result<Outcome>> {
    async move {
        let made = made?;
        let trace = core.trace(operation);
        match made {
            Made::Id(what) => {
                let made = WriteOperation::one(core.meta(), what);
                trace.run(engine::execute(core.cx(&trace), made)).await
            }
            Made::Key(key) => {
                let (first, built, reply) = *key;
                trace.values(core.meta(), "filter", &first.condition);
                let made = engine::first::update(&core, &trace, first, built, reply);
                trace.run(made.boxed()).await
            }
        }
    }
}

fn update(update: UntypedUpdate) -> BoxFuture<'static, Result<Updated>> {
    execute(update.made(), "update").map_ok(Updated::from).boxed()
}

fn returning(update: UntypedUpdate) -> BoxFuture<'static, Result<Option<RawDocumentBuf>>> {
    execute(update.made(), "update_returning")
        .map_ok(|outcome| outcome.document)
        .boxed()
}

impl From<Outcome> for Updated {
    fn from(outcome: Outcome) -> Updated {
        Updated {
            matched: outcome.counts.matched,
            modified: outcome.counts.modified,
            upserted: outcome.upserted,
            refused: outcome.refused,
            copies_updated: outcome.copies,
        }
    }
}

impl UntypedUpdate {
    /// The update for a bulk.
    fn into_part(self) -> BulkPart {
        let UntypedUpdate {
            core,
            which,
            changes,
            upsert,
            collation,
            reply: _,
        } = self;
        let (odm, meta) = (core.odm(), core.meta());
        let made = || {
            takes_no_collation(meta, collation.is_some())?;
            let (id, seen) = match which {
                UpdateTarget::Id(id, seen) => (id, seen),
                UpdateTarget::Key(key) => {
                    let key = key.for_write(&core, None)?;
                    return UntypedMany::by_key(&core, key, changes, upsert).for_bulk(true);
                }
            };
            let one = by_id(&core, id, seen)?;
            let built = changes.build_for(meta, upsert, crate::now())?;
            let update = if upsert {
                engine::UpdateWrite::new(odm, meta, one, built, true)?
            } else {
                engine::UpdateWrite::in_bulk(odm, meta, one, built)?
            };
            Ok(WriteKind::Update(Box::new(update)))
        };
        let what = made();
        BulkPart { core, what }
    }
}

impl<T: Document> IntoPart for Update<T> {
    fn into_part(self) -> BulkPart {
        self.untyped(Reply::Counts).into_part()
    }
}

impl<T: Document> IntoPart for Upsert<T> {
    fn into_part(self) -> BulkPart {
        self.update.into_part()
    }
}

impl<T: Document> IntoFuture for Update<T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'static, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        update(self.untyped(Reply::Counts))
    }
}

/// An update that returns the document: `Out` is `T`, or `Option<T>` for [`returning_before`](Upsert::returning_before) of an upsert, which
/// may insert the document.
///
/// # Errors
/// Those of [`Update`], and [`Error::Decode`] where the stored document can't be decoded as its struct: the update has been
/// made then.
///
/// # Cost
/// As [`Update`]. Without any change the document is read all the same. An upsert that gives the document as it is afterwards
/// is one round trip more where it inserts one with references, or one that others refer to.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
/// let older: Person = people.update(id).inc(|p| p.age, 1).returning().await?;
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct Returning<T: Document, Out = T> {
    update: Update<T>,
    which: ReturnDocument,
    out: PhantomData<fn() -> Out>,
}

impl<T: Document, Out> Change<T> for Returning<T, Out> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.update.changes
    }
}

impl<T: Document, Out> Returning<T, Out> {
    fn new(update: Update<T>, which: ReturnDocument) -> Self {
        Returning {
            update,
            which,
            out: PhantomData,
        }
    }

    /// The document; `None` where an upsert inserted it, and it is asked for as it was before.
    async fn document(self) -> Result<Option<T>> {
        let Returning { update, which, .. } = self;
        let is_empty = update.changes.is_empty() && !update.upsert;
        let seen = match update.which {
            UpdateTarget::Id(_, seen) => seen.filter(|_| is_empty),
            UpdateTarget::Key(_) => None,
        };
        let Some(found) = returning(update.untyped(Reply::Document(which))).await? else {
            return Ok(None);
        };
        let document: T = decode::decode(T::META, &found)?;
        match (seen, document.version()) {
            (Some(seen), Some(found)) if found != seen => Err(Error::Conflict {
                collection: T::META.collection,
                id: Box::new(crate::model::encode::id(document.id())?),
                seen,
                found: Some(found),
            }),
            _ => Ok(Some(document)),
        }
    }
}

impl<T: Document> IntoFuture for Returning<T, T> {
    type Output = Result<T>;
    type IntoFuture = BoxFuture<'static, Result<T>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::into_pin(Box::new(async move {
            self.document().await?.ok_or_else(|| Error::NotFound {
                collection: T::META.collection,
                key: Box::default(),
                deleted: false,
            })
        }))
    }
}

impl<T: Document> IntoFuture for Returning<T, Option<T>> {
    type Output = Result<Option<T>>;
    type IntoFuture = BoxFuture<'static, Result<Option<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::into_pin(Box::new(self.document()))
    }
}

/// A change of every document that matches a condition. The methods of [`Change`] say what changes; `.await` executes the
/// update and returns [`Updated`]. Without any change nothing is sent.
///
/// References are checked as by [`Update`]. Where a target was deleted meanwhile, the references of the first thousand matching
/// documents get their previous values again; beyond them, references that dangle are left to [`audit`](crate::Odm::audit).
///
/// Where the update needs a transaction (for copies and two-way references), up to 1,000 documents are changed in one; more are
/// changed in parts of 1,000, in the order of their ids, each part in a transaction of its own. An error in one part leaves the
/// parts before it as they are, as MongoDB's own `updateMany` does. Within [`Odm::transaction`](crate::Odm::transaction) it is
/// all or nothing.
///
/// # Errors
/// [`Error::Invalid`], [`Error::DuplicateKey`]; [`Error::TooLarge`] for the first document that would pass 16 MiB, with the
/// sizes of the added values, since the server does not say which document it is; [`Error::Query`] where two changes of one
/// field can't be one update. For references, those of [`Update`].
///
/// # Cost
/// One round trip, and one more before it where a change can be refused by a declared bound, by a `null` or by a field that is
/// stored under a previous name (an `alias`), or with [`count_refused`](UpdateMany::count_refused). An upsert that is
/// retried, since another client has inserted the document: one more each time, and after the first retry one that looks up the
/// document. For references as [`Update`], however many documents there are up to 1,000; for more, each 1,000 cost that, and
/// one to find them.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// people.update_where(|p| p.addresses.city.eq("Bonn")).add_to_set(|p| p.tags, "rhine").await?;
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct UpdateMany<T: Document> {
    core: Core,
    filter: Filter<T>,
    changes: Changes<T>,
    upsert: bool,
    counts: bool,
    collation: Option<Collation>,
    hint: Option<String>,
}

impl<T: Document> Change<T> for UpdateMany<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.changes
    }
}

impl<T: Document> UpdateMany<T> {
    pub(crate) fn new(core: Core, filter: Filter<T>) -> Self {
        UpdateMany {
            core,
            filter,
            changes: Changes::new(),
            upsert: false,
            counts: false,
            collation: None,
            hint: None,
        }
    }

    /// Counts all documents that are left as they are, in [`Updated::refused`]: those too that the range of an integer type held
    /// back (an `i32` that would pass `i32::MAX`). These are never changed; by default they are not counted, so that an `inc` of a
    /// field without declared bounds is one round trip.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let done = people.update_where(|p| p.age.gte(18)).mul(|p| p.age, 10).count_refused().await?;
    /// println!("{} changed, {} would be too great", done.modified, done.refused);
    /// # Ok(()) }
    /// ```
    pub fn count_refused(mut self) -> Self {
        self.counts = true;
        self
    }

    /// Compares strings by the rules of a language, instead of by the [collation](crate::Document#document) of the collection.
    ///
    /// Of documents with relationships, the ids of those that match are read first, and these are changed: one round trip more,
    /// and [`Error::Query`] where they are more than 100,000, or for an [`upsert`](UpdateMany::upsert), which can't be named by
    /// an id.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::mongodb::options::{Collation, CollationStrength};
    ///
    /// let ignore_case = Collation::builder().locale("en").strength(CollationStrength::Secondary).build();
    /// people.update_where(|p| p.name.eq("KATE")).set(|p| p.age, 31).collation(ignore_case).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.collation = Some(collation);
        self
    }

    /// Makes the server use the index of this name for the condition. The server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.update_where(|p| p.email.starts_with("kate@")).hint("email_1").set(|p| p.age, 31).await?;
    /// # Ok(()) }
    /// ```
    pub fn hint(mut self, index: impl Into<String>) -> Self {
        self.hint = Some(index.into());
        self
    }

    /// Inserts a document with the values that the condition requires and these changes, if none matches.
    ///
    /// Where the condition requires by equality all values of a unique key (the `_id`, or all fields of a declared unique
    /// index), concurrent upserts of the same document don't fail: one inserts it and the others change it. After a refusal
    /// because of a document with these values, the update is sent again, up to five times; in a transaction,
    /// [`Odm::transaction`](crate::Odm::transaction) retries the whole transaction. [`Error::DuplicateKey`] is returned for
    /// another unique key, and for a document that has these values but does not match the rest of the condition; `existing`
    /// has its id. Without such a key, concurrent upserts may insert several documents.
    ///
    /// The references among those values are checked, and their copies filled in, as in an insertion, also where a document
    /// matches, since that is not known before. For the same reason [`Error::Query`] says that a new document would lack a required
    /// field, without which it could not be read.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, owner: ObjectId) -> odm::Result<()> {
    /// accounts
    ///     .update_where(|a| a.id.eq(7))
    ///     .set_on_insert(|a| a.owner, owner)
    ///     .set(|a| a.cents, 0)
    ///     .upsert()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn upsert(mut self) -> Self
    where
        T: Insertable<T>,
    {
        self.upsert = true;
        self
    }

    /// As [`upsert`](UpdateMany::upsert), and what is inserted is this document, with the changes: the fields that the update changes have what
    /// it makes of missing ones, all others the values of the document, the other parts of a struct or map among them, unless the
    /// condition demands another one.
    ///
    /// The document is checked before anything is sent, as in an insertion.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, owner: ObjectId) -> odm::Result<()> {
    /// let new = NewAccount { id: 7, owner, cents: 0 };
    /// accounts.update_where(|a| a.owner.eq(owner)).inc(|a| a.cents, 500).upsert_with(new).await?;
    /// # Ok(()) }
    /// ```
    pub fn upsert_with(mut self, new: impl Insertable<T>) -> Self
    where
        T: Insertable<T>,
    {
        let new = encoded(new.fresh(crate::now())).map(|(_, raw)| raw);
        self.changes.untyped.insert_whole(new);
        self.upsert()
    }
}

impl<T: Document> UpdateMany<T> {
    /// The same, without its type.
    fn untyped(self) -> UntypedMany {
        UntypedMany {
            core: self.core,
            filter: self.filter.untyped(),
            changes: self.changes.untyped,
            upsert: self.upsert,
            counts: self.counts,
            collation: self.collation,
            hint: self.hint,
        }
    }
}

impl<T: Document> IntoFuture for UpdateMany<T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'static, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        update_where(self.untyped())
    }
}

impl<T: Document> IntoPart for UpdateMany<T> {
    fn into_part(self) -> BulkPart {
        let update = self.untyped();
        BulkPart {
            core: update.core.clone(),
            what: update.for_bulk(false),
        }
    }
}

/// An update of many documents, without their type.
struct UntypedMany {
    core: Core,
    filter: Filter<()>,
    changes: UntypedChanges,
    upsert: bool,
    counts: bool,
    collation: Option<Collation>,
    hint: Option<String>,
}

impl UntypedMany {
    /// An update of the one document that has a unique key.
    /// `key` is the condition that demands a unique key, with the collation of its index.
    fn by_key(
        core: &Core,
        (filter, collation): (Filter<()>, Option<Collation>),
        changes: UntypedChanges,
        upsert: bool,
    ) -> UntypedMany {
        UntypedMany {
            core: core.clone(),
            filter,
            changes,
            upsert,
            counts: false,
            collation,
            hint: None,
        }
    }

    /// The update for a bulk. `is_key` says that its condition demands a unique key, which has been checked.
    fn for_bulk(self, is_key: bool) -> Result<WriteKind> {
        let UntypedMany {
            core,
            filter,
            mut changes,
            upsert,
            counts,
            collation,
            hint,
        } = self;
        let (odm, meta) = (core.odm(), core.meta());
        if counts {
            return Err(refused(
                meta,
                "a bulk does not count the documents that a bound holds back: leave out `count_refused`, or `.await` this update outside \
                 of the bulk",
            ));
        }
        let mut update = if upsert {
            takes_no_collation(meta, collation.is_some())?;
            let condition = filter.into_upsert()?;
            changes.insert_by(&condition.0, &condition.1);
            let built = changes.build_for(meta, upsert, crate::now())?;
            engine::UpdateManyWrite::upsert_in_bulk(odm, meta, condition, built)?
        } else {
            may_have_collation(&core, collation.is_some())?;
            let condition = filter.into_document()?;
            let built = changes.build_for(meta, upsert, crate::now())?;
            let mut update = engine::UpdateManyWrite::in_bulk(odm, meta, condition, built, is_key)?;
            update.collation = collation;
            update
        };
        update.hint = hint;
        Ok(WriteKind::UpdateMany(Box::new(update)))
    }

    fn made(self) -> Result<WriteKind> {
        let UntypedMany {
            core,
            filter,
            mut changes,
            upsert,
            counts,
            collation,
            hint,
        } = self;
        let (odm, meta) = (core.odm(), core.meta());
        let mut update = if upsert {
            let condition = filter.into_upsert()?;
            changes.insert_by(&condition.0, &condition.1);
            let built = changes.build_for(meta, upsert, crate::now())?;
            let in_transaction = core.session().is_some();
            engine::UpdateManyWrite::upsert(odm, meta, condition, built, collation, counts, in_transaction)?
        } else {
            let condition = filter.into_document()?;
            let built = changes.build_for(meta, upsert, crate::now())?;
            let mut update = engine::UpdateManyWrite::new(odm, meta, condition, built, counts)?;
            update.collation = collation;
            update
        };
        update.hint = hint;
        Ok(WriteKind::UpdateMany(Box::new(update)))
    }
}

fn update_where(update: UntypedMany) -> BoxFuture<'static, Result<Updated>> {
    async move {
        if update.changes.is_empty() && !update.upsert {
            return Ok(Updated::default());
        }
        let core = update.core.clone();
        let operation = WriteOperation::one(core.meta(), update.made()?);
        let trace = core.trace("update_where");
        let made = engine::execute(core.cx(&trace), operation);
        trace.run(made).await.map(Updated::from)
    }
    .boxed()
}
