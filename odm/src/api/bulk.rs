//! Mixed writes over several collections.

use crate::api::encoded::{encode, encoded};
use crate::engine::{
    self, Batching, DocumentById, UpdateManyWrite, Write, WriteKind, WriteOperation, Writes,
};
use crate::error::results::BulkDone;
use crate::model::document::DocumentMeta;
use crate::plan::operators::{Changes, never_changed};
use crate::store::cx::Cx;
use crate::store::options::sealed::Configure;
use crate::store::options::{Options, WriteOptions};
use crate::store::trace::Trace;
use crate::store::transaction::Session;
use crate::{
    Deletable, Document, Error, Filter, Insertable, Odm, Replaceable, Result, WriteTarget, model::encode::id,
};
use futures::future::{BoxFuture, FutureExt};
use mongodb::options::Collation;
use std::future::IntoFuture;

/// Writes that `.await` executes together. A bulk is not a transaction: use [`Tx::bulk`](crate::Tx::bulk) for that. Only a bulk
/// that changes two-way references is executed as a transaction, on a deployment that has them: then it is all or nothing, also
/// where it is [`unordered`](Bulk::unordered).
///
/// Deletes of documents that others may refer to are executed separately, as [`Delete`](crate::Delete) says; consecutive
/// deletes in one collection are executed together. A delete that `on_delete = restrict` prevents is a refused write like any
/// other. The writes before and after them are sent in requests of their own.
///
/// A value that can't be stored or breaks a bound is found before anything is sent, and the bulk returns the first such error.
///
/// # Errors
/// [`Error::Bulk`] with the position of each write that was refused, and what the others did. Writes that break a bound, are
/// too large or can't be encoded are found before anything is sent: then none is executed, whether ordered or not. (An insert
/// that fills in copies is checked when it has them: after the deletes before it that look up references.) For an update by
/// which a document would pass 16 MiB the error has the sizes of the added values; a single [`Update`](crate::Update) names the
/// largest fields of the document too. [`Error::MissingReference`] where a document that a write refers to does not exist: then
/// no write is executed, or they are undone. Where separately executed deletes come before these writes, the deletes stay: the
/// error is then an [`Error::Bulk`] that contains this error, or any other one that ended the writes between two such deletes,
/// at the position of the first of these writes.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
/// let done = odm
///     .bulk()
///     .insert::<Person>(new)
///     .update::<Account>(&7, |a| a.inc(|a| a.cents, 500))
///     .delete_where::<Account>(|a| a.cents.eq(0))
///     .await?;
/// println!("{} inserted, {} changed, {} deleted", done.inserted, done.modified, done.deleted);
/// # Ok(()) }
/// ```
#[must_use = "a bulk does nothing until it is awaited"]
pub struct Bulk {
    odm: Odm,
    session: Option<Session>,
    writes: Vec<Write>,
    ordered: bool,
    by_runs: bool,
    /// Those that can't be sent, with their positions.
    refused: Vec<(usize, Error)>,
}

impl Configure for Bulk {
    fn add_options(&mut self, mut options: Options) {
        if self.session.is_some() {
            options.note_misplaced();
        }
        self.odm.add_options(options);
    }
}

impl WriteOptions for Bulk {}

impl std::fmt::Debug for Bulk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bulk")
            .field("writes", &self.writes.len())
            .field("ordered", &self.ordered)
            .finish()
    }
}

impl Odm {
    /// Several writes to several collections in as few requests as the server allows, in their order.
    ///
    /// # Errors
    /// [`Bulk`] says with what it fails.
    ///
    /// # Cost
    /// One round trip on MongoDB 8.0 and later (for every 100,000 writes or 48 MB); before, one for each run of writes of
    /// one kind to one collection. The first use of the handle asks the server what it is. For references as
    /// [`Insert`](crate::Insert) and [`Update`](crate::Update) say, for all writes together, and one more before for each
    /// `update_where` that touches them.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
    /// odm.bulk().insert::<Person>(new).delete::<Account>(&7).await?;
    /// # Ok(()) }
    /// ```
    pub fn bulk(&self) -> Bulk {
        Bulk::new(self, None)
    }
}

impl Bulk {
    pub(crate) fn new(odm: &Odm, session: Option<Session>) -> Bulk {
        let mut odm = odm.clone();
        if session.is_some() {
            odm.within_transaction();
        }
        Bulk {
            odm,
            session,
            writes: Vec::new(),
            ordered: true,
            by_runs: false,
            refused: Vec::new(),
        }
    }

    fn add(mut self, meta: &'static DocumentMeta, what: Result<WriteKind>) -> Bulk {
        let at = self.writes.len() + self.refused.len();
        match what {
            Ok(what) => self.writes.push(Write { at, meta, what }),
            Err(error) => self.refused.push((at, error)),
        }
        self
    }

    /// Continues after a refused write. The writes are executed in any order.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
    /// match odm.bulk().delete::<Account>(&7).insert::<Person>(new).unordered().await {
    ///     Err(Error::Bulk { errors, done }) => println!("{} refused, {} deleted", errors.len(), done.deleted),
    ///     other => println!("{other:?}"),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn unordered(mut self) -> Bulk {
        self.ordered = false;
        self
    }

    /// Sends one command for each run of writes of one kind, also where the server has `bulkWrite`.
    pub(crate) fn set_by_runs(&mut self) {
        self.by_runs = true;
    }

    /// Inserts a document.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
    /// odm.bulk().insert::<Person>(new).await?;
    /// # Ok(()) }
    /// ```
    pub fn insert<T: Document>(self, document: impl Insertable<T>) -> Bulk {
        let encoded = encoded(document.fresh(crate::now()));
        self.add(T::META, encoded.map(|(_, raw)| WriteKind::Insert(raw)))
    }

    /// Changes the document with this id, or this document.
    ///
    /// Given a document of a type with `#[document(version)]`, only if the stored version is still the document's. A document
    /// that does not exist, or that a bound, a `null` or a field under a previous name keeps from being changed, is counted in
    /// [`BulkDone::missed`]; so is one whose array already has the struct that `add_to_set` would add.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, kate: Person) -> odm::Result<()> {
    /// odm.bulk().update::<Person>(kate.id, |p| p.inc(|p| p.age, 1).push(|p| p.tags, "rust")).await?;
    /// # Ok(()) }
    /// ```
    pub fn update<T: Document>(
        self,
        target: impl WriteTarget<T>,
        change: impl FnOnce(Changes<T>) -> Changes<T>,
    ) -> Bulk {
        let what = target.target_id().and_then(|id| {
            let built = change(Changes::new()).build(false, crate::now())?;
            let seen = target.seen_version();
            let update =
                engine::UpdateWrite::in_bulk(&self.odm, T::META, DocumentById::new(id, seen), built)?;
            Ok(WriteKind::Update(Box::new(update)))
        });
        self.add(T::META, what)
    }

    /// Changes every document that matches the condition and allows the change: documents where a bound, a `null`, or a field
    /// that is stored under a previous name (an `alias`) prevents it stay unchanged.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.bulk().update_where::<Person>(|p| p.age.lt(18), |p| p.add_to_set(|p| p.tags, "minor")).await?;
    /// # Ok(()) }
    /// ```
    pub fn update_where<T: Document>(
        self,
        filter: impl FnOnce(T::Paths) -> Filter<T>,
        change: impl FnOnce(Changes<T>) -> Changes<T>,
    ) -> Bulk {
        let what = filter(T::paths()).into_document().and_then(|filter| {
            let built = change(Changes::new()).build(false, crate::now())?;
            let update = UpdateManyWrite::in_bulk(&self.odm, T::META, filter, built)?;
            Ok(WriteKind::UpdateMany(Box::new(update)))
        });
        self.add(T::META, what)
    }

    /// Changes the document with this id, or inserts one with the changes if there is none: as
    /// [`Update::upsert`](crate::Update::upsert). [`BulkDone::upserted`] counts those that were inserted.
    ///
    /// [`Error::Query`] where a new document would lack a required field, as [`Update::upsert`](crate::Update::upsert) says.
    ///
    /// It is sent with the other writes, unless a declared bound or the range of an integer type can hold the change back, it stores
    /// declared defaults, or rules of references and copies apply to it: then it is an operation of its own between them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, owner: ObjectId) -> odm::Result<()> {
    /// let done = odm
    ///     .bulk()
    ///     .upsert::<Account>(&7, |a| a.set(|a| a.owner, owner).set(|a| a.cents, 0))
    ///     .upsert::<Account>(&8, |a| a.set(|a| a.owner, owner).set(|a| a.cents, 0))
    ///     .await?;
    /// println!("{} inserted, {} found", done.upserted, done.matched);
    /// # Ok(()) }
    /// ```
    pub fn upsert<T: Document + Insertable<T>>(
        self,
        target: impl WriteTarget<T>,
        change: impl FnOnce(Changes<T>) -> Changes<T>,
    ) -> Bulk {
        let what = target.target_id().and_then(|id| {
            let built = change(Changes::new()).build(true, crate::now())?;
            let seen = target.seen_version();
            let update =
                engine::UpdateWrite::new(&self.odm, T::META, DocumentById::new(id, seen), built, true)?;
            Ok(WriteKind::Update(Box::new(update)))
        });
        self.add(T::META, what)
    }

    /// The same for the document with a unique key: the condition demands all fields of a declared unique index by equality, as
    /// [`UpdateMany::upsert`](crate::UpdateMany::upsert) says.
    ///
    /// Any other condition is refused with [`Error::Query`].
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, names: Vec<(String, String)>) -> odm::Result<()> {
    /// let mut bulk = odm.bulk().unordered();
    /// for (email, name) in names {
    ///     bulk = bulk.upsert_by::<Person>(|p| p.email.eq(email), |p| p.set(|p| p.name, name));
    /// }
    /// bulk.await?;
    /// # Ok(()) }
    /// ```
    pub fn upsert_by<T: Document + Insertable<T>>(
        self,
        key: impl FnOnce(T::Paths) -> Filter<T>,
        change: impl FnOnce(Changes<T>) -> Changes<T>,
    ) -> Bulk {
        let what = key(T::paths()).into_upsert().and_then(|condition| {
            let built = change(Changes::new()).build(true, crate::now())?;
            let update = UpdateManyWrite::upsert_in_bulk(&self.odm, T::META, condition, built)?;
            Ok(WriteKind::UpdateMany(Box::new(update)))
        });
        self.add(T::META, what)
    }

    /// The condition of the last [`update_where`](Bulk::update_where) or [`delete_where`](Bulk::delete_where) before this
    /// compares strings by the rules of a language, instead of by the [collation](crate::Document#document) of the collection.
    ///
    /// Any other write, and one of documents with relationships, is refused with [`Error::Query`]: those are changed by
    /// [`Collection::update_where`](crate::Collection::update_where) and
    /// [`Collection::delete_where`](crate::Collection::delete_where).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// use odm::mongodb::options::{Collation, CollationStrength};
    ///
    /// let ignore_case = Collation::builder().locale("en").strength(CollationStrength::Secondary).build();
    /// odm.bulk().delete_where::<Person>(|p| p.name.eq("KATE")).collation(ignore_case).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Bulk {
        let last = (self.writes.len() + self.refused.len()).checked_sub(1);
        let Some(mut write) = self.writes.pop_if(|write| Some(write.at) == last) else {
            return self;
        };
        let graph = self.odm.graph();
        let by_rules =
            graph.is_related(write.meta) || graph.is_depended_on(write.meta) || write.meta.has_hooks();
        let place = match &mut write.what {
            WriteKind::UpdateMany(update) => Some(&mut update.collation),
            WriteKind::Delete(delete) if delete.one.is_none() => Some(&mut delete.collation),
            _ => None,
        };
        let has_condition = place.is_some();
        if let Some(place) = place.filter(|_| !by_rules) {
            *place = Some(collation);
            self.writes.push(write);
            return self;
        }
        let why = if has_condition {
            "in a bulk, conditions on documents with relationships or hooks use the collation of their collection"
        } else {
            "in a bulk, only `update_where` and `delete_where` take a collation"
        };
        let error = Error::Query {
            collection: write.meta.collection,
            message: format!(
                "{why}: declare it for the collection, with `#[document(collation(locale = \"…\"))]`, or write outside of the \
                 bulk"
            ),
        };
        self.refused.push((write.at, error));
        self
    }

    /// Stores this document in the place of the one with the same id. As [`Collection::replace`](crate::Collection::replace)
    /// it keeps fields that the type does not declare, and the stored `created_at`.
    ///
    /// With `#[document(version)]` only if the stored version is still the document's. One that is not found is counted
    /// in [`BulkDone::missed`]. A document with `#[document(append_only)]` is never changed: to replace one does not compile.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, mut account: Account) -> odm::Result<()> {
    /// account.cents = 0;
    /// odm.bulk().replace(account).await?;
    /// # Ok(()) }
    /// ```
    pub fn replace<T: Replaceable>(self, document: T) -> Bulk {
        self.add_replace(document, false)
    }

    /// Stores exactly this document in the place of the one with the same id, without the fields that it does not declare:
    /// [`Replace::exact`](crate::Replace::exact).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, account: Account) -> odm::Result<()> {
    /// odm.bulk().replace_exact(account).await?;
    /// # Ok(()) }
    /// ```
    pub fn replace_exact<T: Replaceable>(self, document: T) -> Bulk {
        self.add_replace(document, true)
    }

    fn add_replace<T: Replaceable>(self, mut document: T, exact: bool) -> Bulk {
        let seen = document.version();
        document.touch(crate::now());
        if let Some(seen) = seen {
            document.set_version(seen.saturating_add(1));
        }
        let what = id(document.id()).and_then(|id| {
            never_changed(T::META)?;
            let raw = encode(&document)?;
            let replace = engine::ReplaceWrite::new(DocumentById::new(id, seen), raw, exact);
            Ok(WriteKind::Replace(Box::new(replace)))
        });
        self.add(T::META, what)
    }

    /// Deletes the document with this id, or this document.
    ///
    /// Given a document of a type with `#[document(version)]`, only if the stored version is still the document's.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, id: ObjectId, account: Account) -> odm::Result<()> {
    /// odm.bulk().delete::<Person>(id).delete(&account).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete<T: Deletable>(self, target: impl WriteTarget<T>) -> Bulk {
        let seen = target.seen_version();
        let what = target.target_id().map(|id| {
            let delete = engine::DeleteWrite::one(T::META, DocumentById::new(id, seen));
            WriteKind::Delete(Box::new(delete))
        });
        self.add(T::META, what)
    }

    /// Deletes every document that matches the condition.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.bulk().delete_where::<Account>(|a| a.cents.eq(0)).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete_where<T: Deletable>(self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Bulk {
        let what = filter(T::paths())
            .into_document()
            .map(|filter| WriteKind::Delete(Box::new(engine::DeleteWrite::many(filter))));
        self.add(T::META, what)
    }
}

impl IntoFuture for Bulk {
    type Output = Result<BulkDone>;
    type IntoFuture = BoxFuture<'static, Result<BulkDone>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Bulk {
                odm,
                session,
                mut writes,
                ordered,
                by_runs,
                mut refused,
            } = self;
            if !refused.is_empty() {
                refused.sort_by_key(|(at, _)| *at);
                return Err(Error::Bulk {
                    errors: refused,
                    done: Box::default(),
                });
            }
            // An update without a change is left out: the server takes none.
            writes.retain(|write| match &write.what {
                WriteKind::Update(update) => !update.built.update.is_empty(),
                WriteKind::UpdateMany(update) => !update.built.update.is_empty(),
                WriteKind::Insert(_) | WriteKind::Replace(_) | WriteKind::Delete(_) => true,
            });
            if writes.is_empty() {
                return Ok(BulkDone::default());
            }
            let operation = WriteOperation {
                writes: Writes::Each(writes),
                batching: Batching::Bulk { ordered, by_runs },
            };
            let trace = Trace::new("(several)", "bulk").concealing(odm.graph().sensitive());
            trace
                .run(async {
                    let cx = Cx::new(&odm, session.as_ref(), &trace);
                    let mut outcome = engine::execute(cx, operation).await?;
                    let errors = std::mem::take(&mut outcome.refusals.errors);
                    let done = BulkDone::from(outcome);
                    if errors.is_empty() {
                        Ok(done)
                    } else {
                        Err(Error::Bulk {
                            errors,
                            done: Box::new(done),
                        })
                    }
                })
                .await
        }
        .boxed()
    }
}
