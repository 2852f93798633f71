//! Mixed writes over several collections: one request where the server has the `bulkWrite` command (MongoDB 8.0), else
//! one command for each run of writes of one kind to one collection.

use crate::keep::Replacement;
use crate::model::document::DocumentMeta;
use crate::operators::{Built, Changes, growth, never_changed};
use crate::relation::{self, Amend, Duties, Inserts, Outcome, Token};
use crate::session::Shared;
use crate::store::map::{Context, Refusal, unacknowledged, write_error};
use crate::store::trace::Trace;
use crate::write::{encode, target_filter};
use crate::{Deleted, Document, Error, Filter, Insertable, Odm, Replaceable, Result, Target, query::operand};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, RawDocumentBuf, doc};
use mongodb::options::{
    Collation, DeleteManyModel, DeleteOneModel, InsertOneModel, UpdateManyModel, UpdateModifications,
    UpdateOneModel, WriteConcern, WriteModel,
};
use std::future::IntoFuture;
use std::sync::atomic::AtomicU64;

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
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    session: Option<Shared>,
    writes: Vec<Write>,
    ordered: bool,
    by_runs: bool,
    /// Those that can't be sent, with their positions.
    refused: Vec<(usize, Error)>,
}

impl std::fmt::Debug for Bulk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bulk")
            .field("writes", &self.writes.len())
            .field("ordered", &self.ordered)
            .finish()
    }
}

/// The result of a bulk.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let done = odm.bulk().update::<Account>(&7, |a| a.inc(|a| a.cents, 500)).await?;
/// if done.missed > 0 {
///     println!("no such account");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkDone {
    /// How many documents were inserted.
    pub inserted: u64,
    /// How many documents were found by an update or a replacement, also where an update of items found none to change.
    pub matched: u64,
    /// How many of them have other values now; what a write leaves a note in is counted as in [`Updated`](crate::Updated).
    pub modified: u64,
    /// How many documents were deleted.
    pub deleted: u64,
    /// How many documents were deleted with them, since they refer to them with `on_delete = cascade`.
    pub cascaded: u64,
    /// How often a reference was made empty in another document: `on_delete = nullify`.
    pub nullified: u64,
    /// How often references were pulled out of an array of another document: `on_delete = pull`.
    pub pulled: u64,
    /// How many updates and replacements of one document found none: it is gone, it has another version, or a bound
    /// (a full array) held the change back. A single `update` says which.
    pub missed: u64,
}

#[derive(Clone)]
struct Write {
    /// The position among those given: what is left out before sending does not shift it.
    at: usize,
    meta: &'static DocumentMeta,
    what: What,
    /// How its condition compares strings, if not by the collation of the collection.
    collation: Option<bson::Document>,
}

#[derive(Clone)]
enum What {
    Insert(RawDocumentBuf),
    Update {
        filter: bson::Document,
        built: Built,
        many: bool,
    },
    Replace {
        filter: bson::Document,
        document: RawDocumentBuf,
        exact: bool,
        /// The document that is sent: empty until the copies are known that the document takes.
        pipeline: Vec<bson::Document>,
    },
    Delete {
        filter: bson::Document,
        many: bool,
    },
}

impl What {
    fn command(&self) -> &'static str {
        match self {
            What::Insert(_) => "insert",
            What::Update { .. } | What::Replace { .. } => "update",
            What::Delete { .. } => "delete",
        }
    }

    /// Whether it should find exactly one document.
    fn finds_one(&self) -> bool {
        let one = matches!(self, What::Update { many: false, .. } | What::Replace { .. });
        one && !self.is_idle()
    }

    /// Whether it counts the documents in which the update behind it has nothing to change.
    fn is_idle(&self) -> bool {
        matches!(self, What::Update { built, .. } if built.is_nothing())
    }
}

/// The writes as they are sent: those in which an update has nothing to change are counted by a statement of their own before it.
fn with_idle(writes: Vec<Write>) -> Vec<Write> {
    let mut all = Vec::with_capacity(writes.len());
    for mut write in writes {
        if let What::Update { built, many, .. } = &mut write.what
            && let Some(idle) = built.idle.take()
        {
            all.push(Write {
                what: What::Update {
                    filter: *idle,
                    built: Built::nothing(),
                    many: *many,
                },
                ..write.clone()
            });
        }
        all.push(write);
    }
    all
}

/// Updates the documents that fit one condition, and counts those that fit another one, by one command. Gives how many fit either,
/// and how many were changed.
pub(crate) async fn update_beside(
    odm: &Odm,
    session: Option<&Shared>,
    meta: &'static DocumentMeta,
    idle: bson::Document,
    (filter, built): (&bson::Document, &Built),
    collation: Option<&Collation>,
) -> Result<(u64, u64)> {
    let collation = match collation.map(operand::id).transpose()? {
        Some(Bson::Document(collation)) => Some(collation),
        _ => None,
    };
    let mut built = built.clone();
    built.idle = Some(Box::new(idle));
    let what = What::Update {
        filter: filter.clone(),
        built,
        many: true,
    };
    let writes = with_idle(vec![Write {
        at: 0,
        meta,
        what,
        collation,
    }]);
    match by_runs(odm, session, writes, true, TOGETHER).await {
        Ok((done, _)) => Ok((done.matched, done.modified)),
        Err(Error::Bulk { mut errors, .. }) if !errors.is_empty() => Err(errors.swap_remove(0).1),
        Err(error) => Err(error),
    }
}

/// Maximum number of statements in the one command: every server accepts more.
const TOGETHER: usize = 2;

impl Write {
    /// The kind of write, as the checks of references see it.
    fn relation(&self) -> relation::Write<'_> {
        let what = match &self.what {
            What::Insert(document) => relation::What::Insert(document),
            What::Update { filter, built, many } => relation::What::Update {
                filter,
                built,
                many: *many,
                upsert: false,
            },
            What::Replace { filter, document, .. } => relation::What::Replace { filter, document },
            What::Delete { filter, many } => relation::What::Delete { filter, many: *many },
        };
        relation::Write {
            meta: self.meta,
            what,
        }
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
    /// odm.bulk().insert::<Person>(new).delete::<Account>(&7).await?;
    /// # Ok(()) }
    /// ```
    pub fn bulk(&self) -> Bulk {
        Bulk::new(self, None)
    }
}

impl Bulk {
    pub(crate) fn new(odm: &Odm, session: Option<Shared>) -> Bulk {
        Bulk {
            odm: odm.clone(),
            session,
            writes: Vec::new(),
            ordered: true,
            by_runs: false,
            refused: Vec::new(),
        }
    }

    fn add(mut self, meta: &'static DocumentMeta, what: Result<What>) -> Bulk {
        let at = self.writes.len() + self.refused.len();
        match what {
            Ok(what) => self.writes.push(Write {
                at,
                meta,
                what,
                collation: None,
            }),
            Err(error) => self.refused.push((at, error)),
        }
        self
    }

    /// Continues after a refused write. The writes are executed in any order.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
    /// odm.bulk().insert::<Person>(new).await?;
    /// # Ok(()) }
    /// ```
    pub fn insert<T: Document>(self, document: impl Insertable<T>) -> Bulk {
        let encoded = crate::write::encoded(document.fresh(crate::now()));
        self.add(T::META, encoded.map(|(_, raw)| What::Insert(raw)))
    }

    /// Changes the document with this id, or this document.
    ///
    /// Given a document of a type with `#[document(version)]`, only if the stored version is still the document's. A document
    /// that does not exist, or that a bound, a `null` or a field under a previous name keeps from being changed, is counted in
    /// [`BulkDone::missed`]; so is one whose array already has the struct that `add_to_set` would add.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm, kate: Person) -> odm::Result<()> {
    /// odm.bulk().update(&kate, |p| p.inc(|p| p.age, 1).push(|p| p.tags, "rust")).await?;
    /// # Ok(()) }
    /// ```
    pub fn update<T: Document>(
        self,
        target: impl Target<T>,
        change: impl FnOnce(Changes<T>) -> Changes<T>,
    ) -> Bulk {
        let what = target.target_id().and_then(|id| {
            let mut built = change(Changes::new()).build(false, crate::now())?;
            built.adds_alone(T::META.collection)?;
            relation::prepare(&self.odm, T::META, &mut built)?;
            built.fills_at_once(T::META.collection, "a bulk")?;
            let mut filter = target_filter(T::META, &id, target.seen_version());
            built.idle = built.idle_among(filter.clone()).map(Box::new);
            if !built.guards.is_empty() {
                let conditions: Vec<Bson> = built
                    .guards
                    .iter()
                    .map(|guard| guard.condition().into())
                    .collect();
                filter.insert("$and", conditions);
            }
            Ok(What::Update {
                filter,
                built,
                many: false,
            })
        });
        self.add(T::META, what)
    }

    /// Changes every document that matches the condition and allows the change: documents where a bound, a `null`, or a field
    /// that is stored under a previous name (a serde `alias`) prevents it stay unchanged.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
            let mut built = change(Changes::new()).build(false, crate::now())?;
            built.adds_alone(T::META.collection)?;
            relation::prepare(&self.odm, T::META, &mut built)?;
            built.fills_at_once(T::META.collection, "a bulk")?;
            built.idle = built.idle_among(filter.clone()).map(Box::new);
            let mut conditions = vec![Bson::Document(filter)];
            conditions.extend(built.guards.iter().map(|guard| Bson::Document(guard.condition())));
            Ok(What::Update {
                filter: doc! { "$and": conditions },
                built,
                many: true,
            })
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// use odm::mongodb::options::{Collation, CollationStrength};
    ///
    /// let ignore_case = Collation::builder().locale("en").strength(CollationStrength::Secondary).build();
    /// odm.bulk().delete_where::<Person>(|p| p.name.eq("KATE")).collation(ignore_case).await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Bulk {
        let last = (self.writes.len() + self.refused.len()).checked_sub(1);
        let Some(write) = self.writes.pop_if(|write| Some(write.at) == last) else {
            return self;
        };
        let graph = self.odm.graph();
        let by_rules = graph.is_related(write.meta) || graph.is_depended_on(write.meta);
        let has_condition = matches!(
            &write.what,
            What::Update { many: true, .. } | What::Delete { many: true, .. }
        );
        if has_condition && !by_rules {
            match operand::id(&collation) {
                Ok(Bson::Document(collation)) => self.writes.push(Write {
                    collation: Some(collation),
                    ..write
                }),
                Ok(_) => self.writes.push(write),
                Err(error) => self.refused.push((write.at, error)),
            }
            return self;
        }
        let why = match has_condition {
            true => {
                "in a bulk, conditions on documents with relationships use the collation of their collection"
            }
            false => "in a bulk, only `update_where` and `delete_where` take a collation",
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
        let what = operand::id(document.id()).and_then(|id| {
            never_changed(T::META)?;
            Ok(What::Replace {
                filter: target_filter(T::META, &id, seen),
                document: encode(&document)?,
                exact,
                pipeline: Vec::new(),
            })
        });
        self.add(T::META, what)
    }

    /// Deletes the document with this id, or this document.
    ///
    /// Given a document of a type with `#[document(version)]`, only if the stored version is still the document's.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm, id: ObjectId, account: Account) -> odm::Result<()> {
    /// odm.bulk().delete::<Person>(id).delete(&account).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete<T: Document>(self, target: impl Target<T>) -> Bulk {
        let what = target.target_id().map(|id| What::Delete {
            filter: target_filter(T::META, &id, target.seen_version()),
            many: false,
        });
        self.add(T::META, what)
    }

    /// Deletes every document that matches the condition.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.bulk().delete_where::<Account>(|a| a.cents.eq(0)).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete_where<T: Document>(self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Bulk {
        let what = filter(T::paths())
            .into_document()
            .map(|filter| What::Delete { filter, many: true });
        self.add(T::META, what)
    }
}

impl IntoFuture for Bulk {
    type Output = Result<BulkDone>;
    type IntoFuture = BoxFuture<'static, Result<BulkDone>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            if !self.refused.is_empty() {
                return Err(refusal(self.refused));
            }
            // An update without a change is left out: the server takes none.
            let mut writes = self.writes;
            writes.retain(
                |write| !matches!(&write.what, What::Update { built, .. } if built.update.is_empty()),
            );
            if writes.is_empty() {
                return Ok(BulkDone::default());
            }
            let bulk = Prepared {
                odm: &self.odm,
                session: self.session.as_ref(),
                ordered: self.ordered,
                by_runs: self.by_runs,
            };
            let trace = Trace::new("(several)", "bulk");
            trace
                .run(async {
                    let made = bulk.carry_out(writes, &trace).await?;
                    match made.errors.is_empty() {
                        true => Ok(made.done),
                        false => Err(Error::Bulk {
                            errors: made.errors,
                            done: Box::new(made.done),
                        }),
                    }
                })
                .await
        }
        .boxed()
    }
}

/// The result of a bulk, or of a part of one.
#[derive(Default)]
struct Made {
    done: BulkDone,
    errors: Vec<(usize, Error)>,
    ordered: bool,
    /// The positions of its writes among those given.
    places: Vec<usize>,
    round_trips: u64,
}

impl Made {
    fn add(&mut self, part: Made) {
        self.done.add(&part.done);
        self.errors.extend(part.errors);
        self.round_trips += part.round_trips;
    }
}

impl From<Made> for Outcome {
    fn from(made: Made) -> Outcome {
        Outcome {
            inserted: made.done.inserted,
            matched: made.done.matched,
            modified: made.done.modified,
            deleted: made.done.deleted,
            missed: made.done.missed,
            errors: made.errors,
            places: Some(made.places),
            ordered: made.ordered,
            round_trips: made.round_trips,
            ..Outcome::default()
        }
    }
}

impl From<Outcome> for Made {
    fn from(outcome: Outcome) -> Made {
        let done = BulkDone {
            inserted: outcome.inserted,
            matched: outcome.matched,
            modified: outcome.modified,
            deleted: outcome.deleted,
            missed: outcome.missed,
            ..BulkDone::default()
        };
        Made {
            done,
            errors: outcome.errors,
            ordered: outcome.ordered,
            places: outcome.places.unwrap_or_default(),
            round_trips: outcome.round_trips,
        }
    }
}

#[derive(Clone, Copy)]
struct Prepared<'a> {
    odm: &'a Odm,
    session: Option<&'a Shared>,
    ordered: bool,
    by_runs: bool,
}

impl Prepared<'_> {
    /// Executes the writes, with their checks and effects. Deletes that affect other documents are executed separately, like
    /// all such deletes.
    async fn carry_out(self, writes: Vec<Write>, trace: &Trace) -> Result<Made> {
        self.odm.know_declarations(trace).await?;
        let graph = self.odm.graph();
        let mut checked = None;
        for write in &writes {
            if matches!(write.what, What::Delete { .. }) && checked != Some(write.meta.collection) {
                checked = Some(write.meta.collection);
                self.odm.may_delete(write.meta)?;
            }
        }
        let ruled = |write: &Write| {
            matches!(write.what, What::Delete { .. }) && relation::has_rules(graph, write.meta)
        };
        if !writes.iter().any(ruled) {
            return self.write(writes, trace).await;
        }
        let mut writes = writes;
        if !self.ordered {
            writes.sort_by_key(|write| (ruled(write), ruled(write).then_some(write.meta.collection)));
        }
        let mut all = Made {
            ordered: self.ordered,
            ..Made::default()
        };
        let mut rest = writes.as_slice();
        while let Some(first) = rest.first() {
            let alike = |next: &&Write| match ruled(first) {
                true => ruled(next) && relation::is(next.meta, first.meta),
                false => !ruled(next),
            };
            let length = rest.iter().take_while(alike).count().max(1);
            let (part, behind) = rest.split_at(length);
            rest = behind;
            let made = match ruled(first) {
                true => self.delete(first.meta, part).await,
                false => self.write(part.to_vec(), trace).await,
            };
            let (made, ends) = match made {
                Ok(made) => (made, false),
                // Nothing of this part is executed, or the server has ended the transaction. The result of the parts before it
                // has to be reported.
                Err(Error::Bulk { errors, done }) => {
                    let made = Made {
                        done: *done,
                        errors,
                        ..Made::default()
                    };
                    (made, true)
                }
                // Out of a transaction what the parts before it did stays done.
                Err(error) if self.session.is_none() && all.done != BulkDone::default() => {
                    let made = Made {
                        errors: vec![(first.at, error)],
                        ..Made::default()
                    };
                    (made, true)
                }
                Err(error) => return Err(error),
            };
            all.add(made);
            if ends || self.ordered && !all.errors.is_empty() {
                break;
            }
        }
        all.errors.sort_by_key(|(at, _)| *at);
        trace.done(
            all.round_trips,
            all.done.inserted + all.done.modified + all.done.deleted + all.done.cascaded,
        );
        Ok(all)
    }

    /// Deletes documents of one collection by the rules of the references to them, all together if nothing holds one of
    /// them back; else it is looked for by halves.
    async fn delete(self, meta: &'static DocumentMeta, deletes: &[Write]) -> Result<Made> {
        let trips = AtomicU64::new(0);
        let scope = relation::Scope::new(self.odm, self.session, &trips);
        let mut made = Made {
            ordered: self.ordered,
            ..Made::default()
        };
        // One that refers to another one does not hold it back if both are deleted together.
        let most = match relation::refers_to_its_kind(self.odm, meta) {
            true => usize::MAX,
            false => DELETES,
        };
        let mut parts = vec![deletes];
        while let Some(part) = parts.pop() {
            let mut done = Deleted::default();
            let outcome = match together_or_alone(part, most) {
                Ok(filter) => relation::remove(scope, meta, filter, &mut done).await,
                Err((first, second)) => {
                    parts.extend([second, first]);
                    continue;
                }
            };
            made.done.add(&BulkDone {
                deleted: done.deleted,
                cascaded: done.cascaded,
                nullified: done.nullified,
                pulled: done.pulled,
                ..BulkDone::default()
            });
            match (outcome, part) {
                (Ok(()), _) => {}
                // In a transaction nothing of it can be saved.
                (Err(error @ Error::StillReferenced { .. }), [first, ..])
                    if part.len() == 1 || self.session.is_some() =>
                {
                    made.errors.push((first.at, error));
                    if self.ordered || self.session.is_some() {
                        break;
                    }
                }
                (Err(Error::StillReferenced { .. }), _) => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                (Err(error), [first, ..]) if self.session.is_none() && made.done != BulkDone::default() => {
                    made.errors.push((first.at, error));
                    break;
                }
                (Err(error), _) => return Err(error),
            }
        }
        made.round_trips = trips.into_inner();
        Ok(made)
    }

    async fn write(self, writes: Vec<Write>, trace: &Trace) -> Result<Made> {
        let mut writes = writes;
        let token = self.amend(&mut writes, trace).await?;
        let made = match Duties::of(self.odm, writes.iter().map(Write::relation), token)? {
            None => self.send(self.session, writes).await?,
            Some(duties) if self.session.is_none() && duties.is_one().await? => {
                self.in_transaction(&duties, &writes, trace).await?
            }
            Some(duties) if self.session.is_none() && duties.is_linked() => {
                self.one_by_one(&writes, token, trace).await?
            }
            Some(duties) => self.with(&duties, &writes, trace).await?,
        };
        trace.done(
            made.round_trips,
            made.done.inserted + made.done.modified + made.done.deleted,
        );
        Ok(made)
    }

    /// Fills in the copies of the writes. Returns the token of their pending work.
    async fn amend(self, writes: &mut [Write], trace: &Trace) -> Result<Option<Token>> {
        let mut token = None;
        let amend = Amend {
            odm: self.odm,
            session: self.session,
            trace,
            beside: &[],
        };
        let mut metas: Vec<&'static DocumentMeta> = Vec::new();
        for write in writes.iter() {
            let known = metas.iter().any(|meta| meta.collection == write.meta.collection);
            if !known && amend.concerns(write.meta) {
                metas.push(write.meta);
            }
        }
        amend.sources_first(&mut metas);
        let mut inserted: Vec<Inserts> = Vec::new();
        let mut refused = Vec::new();
        for meta in metas {
            let before = Amend {
                beside: &inserted,
                ..amend
            };
            let of = |write: &&mut Write| write.meta.collection == meta.collection;
            let mut inserts: Vec<(usize, RawDocumentBuf)> = Vec::new();
            for (at, write) in writes.iter_mut().enumerate() {
                let own = of(&write);
                if let (What::Insert(raw), true) = (&mut write.what, own) {
                    inserts.push((at, std::mem::take(raw)));
                }
            }
            let (places, mut documents): (Vec<usize>, Vec<RawDocumentBuf>) = inserts.into_iter().unzip();
            before.insert(meta, &mut documents, &mut token).await?;
            let copied = match !documents.is_empty() && before.may_copy(meta).await? {
                true => Some((meta, documents.clone())),
                false => None,
            };
            for (at, document) in places.into_iter().zip(documents) {
                let Some(write) = writes.get_mut(at) else { continue };
                match crate::model::check::document(meta, &document) {
                    Ok(()) => write.what = What::Insert(document),
                    Err(error) => refused.push((write.at, error)),
                }
            }
            inserted.extend(copied);
            // They may copy from what is inserted beside them, of their own collection too.
            let behind = Amend {
                beside: &inserted,
                ..amend
            };
            for write in writes.iter_mut().filter(of) {
                match &mut write.what {
                    What::Update { filter, built, many } => {
                        let one = filter.get("_id").filter(|_| !*many);
                        behind.update(meta, one, built, false, &mut token).await?;
                    }
                    What::Replace {
                        document,
                        exact,
                        pipeline,
                        ..
                    } => {
                        let amended = behind.replace(meta, document, &mut token).await?;
                        let made = Replacement::new(meta, std::mem::take(document), amended, *exact)?;
                        (*document, *pipeline) = (made.document, made.pipeline);
                    }
                    What::Insert(_) | What::Delete { .. } => {}
                }
            }
        }
        // Those in which the library has nothing of its own.
        for Write { meta, what, .. } in writes.iter_mut() {
            if let What::Replace {
                document,
                exact,
                pipeline,
                ..
            } = what
                && pipeline.is_empty()
            {
                let made = Replacement::new(meta, std::mem::take(document), None, *exact)?;
                (*document, *pipeline) = (made.document, made.pipeline);
            }
        }
        match refused.is_empty() {
            true => Ok(token),
            false => Err(refusal(refused)),
        }
    }

    async fn with<'w>(self, duties: &Duties<'w>, writes: &'w [Write], trace: &Trace) -> Result<Made>
    where
        Self: 'w,
    {
        let send = |session: Option<Shared>| {
            async move {
                let made = self.send(session.as_ref(), writes.to_vec()).await;
                made.map(Outcome::from)
            }
            .boxed()
        };
        duties.execute(self.session, trace, &send).await.map(Made::from)
    }

    /// All or nothing: what a refused write leaves of a transaction is nothing.
    async fn in_transaction<'w>(self, duties: &Duties<'w>, writes: &'w [Write], trace: &Trace) -> Result<Made>
    where
        Self: 'w,
    {
        match self.with(duties, writes, trace).await {
            Err(Error::Bulk { errors, .. }) => Err(Error::Bulk {
                errors,
                done: Box::default(),
            }),
            made => made,
        }
    }

    /// On a standalone server the other side of a link follows each write, so that what it would refuse holds back that write
    /// alone. Inserts of one kind are one write: they may refer to each other.
    async fn one_by_one(self, writes: &[Write], token: Option<Token>, trace: &Trace) -> Result<Made> {
        let mut all = Made::default();
        let alike = |a: &Write, b: &Write| {
            let inserts = matches!((&a.what, &b.what), (What::Insert(_), What::Insert(_)));
            inserts && relation::is(a.meta, b.meta)
        };
        for part in writes.chunk_by(alike) {
            let made = match Duties::of(self.odm, part.iter().map(Write::relation), token)? {
                None => self.send(None, part.to_vec()).await,
                Some(duties) => self.with(&duties, part, trace).await,
            };
            match made {
                Ok(made) => all.add(made),
                Err(error) => all.errors.extend(part.first().map(|first| (first.at, error))),
            }
            if self.ordered && !all.errors.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    /// A refusal of the server is an error only in a transaction, which it ends.
    async fn send(self, session: Option<&Shared>, writes: Vec<Write>) -> Result<Made> {
        let server = self.odm.server().await?;
        let places = writes.iter().map(|write| write.at).collect();
        let most = server.max_write_batch();
        let brought: Vec<(usize, Vec<(String, u64)>)> = writes
            .iter()
            .filter_map(|write| match &write.what {
                What::Update { built, .. } => Some((write.at, growth::brought(&built.update))),
                What::Replace { document, .. } => Some((write.at, crate::model::check::largest(document))),
                _ => None,
            })
            .collect();
        let writes = with_idle(writes);
        let bulk_write = self.odm.bulk_write();
        let sent = match server.has_bulk_write() && !self.by_runs && !bulk_write.is_refused() {
            true => {
                let again = (!bulk_write.is_taken()).then(|| writes.clone());
                let sent = together(self.odm, session, writes, self.ordered).await;
                let disabled = sent.as_ref().is_err_and(is_disabled);
                if disabled {
                    bulk_write.refuse();
                } else if sent.is_ok() {
                    bulk_write.take();
                }
                match again {
                    // In a transaction, which this has ended, it is tried again with the whole of it.
                    Some(writes) if disabled && session.is_none() => {
                        let sent = by_runs(self.odm, session, writes, self.ordered, most).await;
                        sent.map(|(done, round_trips)| (done, round_trips + 1))
                    }
                    _ => sent.map(|done| (done, 1)),
                }
            }
            false => by_runs(self.odm, session, writes, self.ordered, most).await,
        };
        let sent = sent.map_err(|mut error| {
            if let Error::Bulk { errors, .. } = &mut error {
                for (at, error) in errors {
                    let of = brought.iter().find(|(place, _)| place == at);
                    if let (Error::TooLarge { brought, .. }, Some((_, of))) = (error, of) {
                        brought.clone_from(of);
                    }
                }
            }
            error
        });
        let (done, round_trips, errors) = match sent {
            Ok((done, round_trips)) => (done, round_trips, Vec::new()),
            Err(Error::Bulk { errors, done }) if session.is_none() => (*done, 1, errors),
            Err(error) => return Err(error),
        };
        Ok(Made {
            done,
            errors,
            ordered: self.ordered,
            places,
            round_trips,
        })
    }
}

impl BulkDone {
    fn add(&mut self, other: &BulkDone) {
        self.inserted += other.inserted;
        self.matched += other.matched;
        self.modified += other.modified;
        self.deleted += other.deleted;
        self.cascaded += other.cascaded;
        self.nullified += other.nullified;
        self.pulled += other.pulled;
        self.missed += other.missed;
    }
}

/// Before anything was done.
fn refusal(mut errors: Vec<(usize, Error)>) -> Error {
    errors.sort_by_key(|(at, _)| *at);
    Error::Bulk {
        errors,
        done: Box::default(),
    }
}

fn document(raw: &RawDocumentBuf) -> Result<bson::Document> {
    bson::Document::try_from(raw).map_err(|source| Error::Encode {
        field: "document".to_owned(),
        source: Box::new(source),
    })
}

/// Maximum number of deletes in one condition: it is sent with each batch that is read by it.
const DELETES: usize = 10_000;

/// The condition of all documents that these deletes name; or two parts of them, where their conditions don't combine.
fn together_or_alone(deletes: &[Write], most: usize) -> Result<bson::Document, (&[Write], &[Write])> {
    let filters = || {
        deletes.iter().filter_map(|write| match &write.what {
            What::Delete { filter, .. } => Some(filter),
            _ => None,
        })
    };
    if deletes.len() > most {
        return Err(deletes.split_at(most));
    }
    if let [_] = deletes {
        return Ok(filters().next().cloned().unwrap_or_default());
    }
    if let Some(alone) = filters().position(|filter| !relation::combines(filter)) {
        return Err(deletes.split_at(alone.max(1)));
    }
    // An id alone is looked for with all others.
    let is_id = |filter: &&bson::Document| filter.len() == 1 && !filter.get("_id").is_none_or(is_operator);
    let ids: Vec<&Bson> = filters()
        .filter(is_id)
        .filter_map(|filter| filter.get("_id"))
        .collect();
    let mut any: Vec<bson::Document> = filters().filter(|filter| !is_id(filter)).cloned().collect();
    if !ids.is_empty() {
        any.push(doc! { "_id": { "$in": ids } });
    }
    Ok(match any.len() {
        1 => any.pop().unwrap_or_default(),
        _ => doc! { "$or": any },
    })
}

fn is_operator(value: &Bson) -> bool {
    matches!(value, Bson::Document(document) if document.keys().any(|name| name.starts_with('$')))
}

/// The write concern of a bulk's commands: what copies and links depend on may not be lost when another server becomes the
/// primary. A transaction has one for all.
fn concern(
    odm: &Odm,
    session: Option<&Shared>,
    mut metas: impl Iterator<Item = &'static DocumentMeta>,
) -> Option<WriteConcern> {
    match session {
        Some(_) => None,
        None if metas.any(|meta| odm.graph().is_depended_on(meta)) => Some(WriteConcern::majority()),
        None => odm.database().write_concern().cloned(),
    }
}

/// Whether a server that has `bulkWrite` does not take it: one of MongoDB 8.0 whose `featureCompatibilityVersion` has not been
/// raised yet, which no reply to `hello` tells.
fn is_disabled(error: &Error) -> bool {
    use mongodb::error::{Error, ErrorKind};
    let refuses = |error: &Error| {
        // `CommandNotFound` and `CommandNotSupported`.
        matches!(&*error.kind, ErrorKind::Command(command)
            if matches!(command.code, 59 | 115) && command.message.to_ascii_lowercase().contains("bulkwrite"))
    };
    error.driver_error().is_some_and(|error| {
        let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
        refuses(error) || source.is_some_and(refuses)
    })
}

/// The error of a whole `bulkWrite` command, which may stand behind one of the driver's own.
fn of_command(error: mongodb::error::Error, collection: &'static str) -> Error {
    use mongodb::error::{Error as Driver, ErrorKind};
    let context = Context {
        collection,
        meta: None,
    };
    let source: Option<&Driver> = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
    let behind = source.filter(|source| matches!(&*source.kind, ErrorKind::Command(_)));
    match behind.map(|behind| context.driver(behind.clone())) {
        // The labels of the whole error say whether the server may have executed it.
        None | Some(Error::Driver(_) | Error::Unavailable { .. }) => context.driver(error),
        Some(told) => told,
    }
}

/// By the `bulkWrite` command.
async fn together(
    odm: &Odm,
    session: Option<&Shared>,
    writes: Vec<Write>,
    ordered: bool,
) -> Result<BulkDone> {
    let database = odm.database().name().to_owned();
    let mut models: Vec<WriteModel> = Vec::with_capacity(writes.len());
    let mut metas = Vec::with_capacity(writes.len());
    let idle: Vec<bool> = writes.iter().map(|write| write.what.is_idle()).collect();
    for Write {
        at,
        meta,
        what,
        collation,
    } in writes
    {
        metas.push((at, meta));
        let namespace = mongodb::Namespace {
            db: database.clone(),
            coll: meta.collection.to_owned(),
        };
        models.push(match what {
            What::Insert(raw) => InsertOneModel::builder()
                .namespace(namespace)
                .document(document(&raw)?)
                .build()
                .into(),
            What::Update { filter, built, many } => {
                let update = built.modifications();
                let array_filters: Option<Vec<Bson>> = (!built.array_filters.is_empty())
                    .then(|| built.array_filters.into_iter().map(Bson::Document).collect());
                if many {
                    UpdateManyModel::builder()
                        .namespace(namespace)
                        .filter(filter)
                        .update(update)
                        .array_filters(array_filters)
                        .collation(collation)
                        .build()
                        .into()
                } else {
                    UpdateOneModel::builder()
                        .namespace(namespace)
                        .filter(filter)
                        .update(update)
                        .array_filters(array_filters)
                        .build()
                        .into()
                }
            }
            What::Replace { filter, pipeline, .. } => UpdateOneModel::builder()
                .namespace(namespace)
                .filter(filter)
                .update(UpdateModifications::Pipeline(pipeline))
                .build()
                .into(),
            What::Delete { filter, many: true } => DeleteManyModel::builder()
                .namespace(namespace)
                .filter(filter)
                .collation(collation)
                .build()
                .into(),
            What::Delete { filter, many: false } => DeleteOneModel::builder()
                .namespace(namespace)
                .filter(filter)
                .build()
                .into(),
        });
    }
    // To know which updates found nothing, each one's own result is asked for.
    let single: Vec<bool> = models
        .iter()
        .zip(&idle)
        .map(|(model, idle)| matches!(model, WriteModel::UpdateOne(_)) && !idle)
        .collect();
    let mut action = odm.database().client().bulk_write(models).ordered(ordered);
    if let Some(concern) = concern(odm, session, metas.iter().map(|(_, meta)| *meta)) {
        action = action.write_concern(concern);
    }
    let action = action.verbose_results();
    let result = crate::collection::act!(session, action);
    let summary = |results: &mongodb::results::VerboseBulkWriteResult| {
        let mut done = BulkDone {
            inserted: results.summary.inserted_count.max(0) as u64,
            matched: results.summary.matched_count.max(0) as u64,
            modified: results.summary.modified_count.max(0) as u64,
            deleted: results.summary.deleted_count.max(0) as u64,
            ..BulkDone::default()
        };
        // The document was found, and had nothing to change.
        let was_idle = |at: usize| {
            let before = at.checked_sub(1).filter(|at| idle.get(*at) == Some(&true));
            let before = before.and_then(|at| results.update_results.get(&at));
            before.is_some_and(|result| result.matched_count > 0)
        };
        let missed = results.update_results.iter().filter(|(at, result)| {
            single.get(**at) == Some(&true) && result.matched_count == 0 && !was_idle(**at)
        });
        done.missed = missed.count() as u64;
        done
    };
    match result {
        Ok(results) => Ok(summary(&results)),
        Err(error) => {
            let collection = metas.first().map_or("", |(_, meta)| meta.collection);
            let mongodb::error::ErrorKind::BulkWrite(failure) = &*error.kind else {
                return Err(of_command(error, collection));
            };
            // Something else than the writes themselves went wrong, and they may not be all: the driver's error says it.
            // So does it where the whole transaction is to be run again: the label stands on it alone.
            if failure.write_errors.is_empty()
                || error.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR)
            {
                let partly = failure.partial_result.is_some() && session.is_none();
                let error = of_command(error, collection);
                return Err(match partly {
                    true => error.after_a_part(collection),
                    false => error,
                });
            }
            let done = match &failure.partial_result {
                Some(mongodb::error::PartialBulkWriteResult::Verbose(results)) => summary(results),
                _ => BulkDone::default(),
            };
            let mut errors: Vec<(usize, Error)> = failure
                .write_errors
                .iter()
                .filter_map(|(sent, failure)| {
                    let (at, meta) = metas.get(*sent)?;
                    Some((*at, write_error(Context::of(meta), failure)))
                })
                .collect();
            errors.sort_by_key(|(at, _)| *at);
            Err(Error::Bulk {
                errors,
                done: Box::new(done),
            })
        }
    }
}

/// The greatest size of one command's statements. A command is a document too, so it has a document's limit and the 16 KB
/// that the server leaves above it for the rest of the command; the larger limit of a message holds for the driver's own
/// inserts, which it sends beside the command.
const MOST_BYTES: usize = crate::model::size::MAX_DOCUMENT_SIZE as usize;

/// A write, as the server's command takes it.
struct Statement {
    at: usize,
    meta: &'static DocumentMeta,
    command: &'static str,
    finds_one: bool,
    many: bool,
    raw: RawDocumentBuf,
}

impl Statement {
    fn of(write: Write) -> Result<Statement> {
        let Write {
            at,
            meta,
            what,
            collation,
        } = write;
        Ok(Statement {
            at,
            meta,
            command: what.command(),
            finds_one: what.finds_one(),
            many: matches!(&what, What::Update { many: true, .. }),
            raw: statement(what, collation)?,
        })
    }

    /// With its type, and its position as a name, in an array.
    fn size(&self) -> usize {
        self.raw.as_bytes().len() + 8
    }
}

/// By one command for each run of writes of one kind to one collection.
async fn by_runs(
    odm: &Odm,
    session: Option<&Shared>,
    writes: Vec<Write>,
    ordered: bool,
    most: usize,
) -> Result<(BulkDone, u64)> {
    let mut done = BulkDone::default();
    let mut errors: Vec<(usize, Error)> = Vec::new();
    let mut unsure = None;
    let mut round_trips = 0;
    let statements: Vec<Statement> = writes.into_iter().map(Statement::of).collect::<Result<_>>()?;
    // The driver adds the write concern to its own operations, not to a command.
    let concern = concern(odm, session, statements.iter().map(|statement| statement.meta));
    let concern = concern.and_then(|concern| bson::serialize_to_raw_document_buf(&concern).ok());
    let mut rest = statements.as_slice();
    while let Some(first) = rest.first() {
        let (meta, command) = (first.meta, first.command);
        let mut bytes = 0;
        let length = rest
            .iter()
            .take(most)
            .take_while(|next| {
                bytes += next.size();
                relation::is(next.meta, meta) && next.command == command && bytes <= MOST_BYTES
            })
            .count()
            .max(1);
        let (sent, behind) = rest.split_at(length);
        rest = behind;
        let mut list = bson::RawArrayBuf::new();
        for statement in sent {
            list.push(statement.raw.clone());
        }
        let mut run = RawDocumentBuf::new();
        run.append(key(command)?, meta.collection);
        run.append(bson::cstr!("ordered"), ordered);
        if let Some(concern) = &concern {
            run.append(bson::cstr!("writeConcern"), concern.clone());
        }
        let field = match command {
            "insert" => bson::cstr!("documents"),
            "update" => bson::cstr!("updates"),
            _ => bson::cstr!("deletes"),
        };
        run.append(field, list);
        let action = odm.database().run_raw_command(run);
        let reply = crate::collection::act!(session, action);
        let reply = match reply.map_err(|error| Context::of(meta).driver(error)) {
            Ok(reply) => reply,
            // Out of a transaction, the commands before it are done.
            Err(error) if session.is_none() && round_trips > 0 => {
                errors.push((first.at, error));
                break;
            }
            Err(error) => return Err(error),
        };
        round_trips += 1;
        let number = |name: &str| match reply.get(name) {
            Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
            _ => 0,
        };
        // The statements that were tried; of those that failed it can't be said that they were looked for in vain.
        let mut tried: Vec<bool> = sent.iter().map(|statement| statement.finds_one).collect();
        if let Ok(failed) = reply.get_array("writeErrors") {
            for failure in failed.iter().filter_map(Bson::as_document) {
                let index = match failure.get("index") {
                    Some(Bson::Int32(n)) => usize::try_from(*n).unwrap_or(0),
                    Some(Bson::Int64(n)) => usize::try_from(*n).unwrap_or(0),
                    _ => 0,
                };
                if let Some(tried) = tried.get_mut(index) {
                    *tried = false;
                }
                if ordered {
                    tried.truncate(index);
                }
                let at = sent.get(index).map_or(first.at, |statement| statement.at);
                errors.push((at, refused(failure, meta)));
            }
        }
        let n = number("n");
        match command {
            "insert" => done.inserted += n,
            "update" => {
                done.matched += n;
                done.modified += number("nModified");
                // With an update of many among them the sum does not tell what the others found.
                if !sent.iter().any(|statement| statement.many) {
                    let alone = tried.iter().filter(|alone| **alone).count() as u64;
                    done.missed += alone.saturating_sub(n);
                }
            }
            _ => done.deleted += n,
        }
        // The writes were made, but not as safely as the write concern demands.
        unsure = unsure.or_else(|| unacknowledged(&reply));
        if let (Some(session), Some((_, error))) = (session, errors.first()) {
            // The server has ended the transaction there, though its reply is no error.
            session.spoil(error);
            break;
        }
        if ordered && !errors.is_empty() {
            break;
        }
    }
    if !errors.is_empty() {
        return Err(Error::Bulk {
            errors,
            done: Box::new(done),
        });
    }
    match unsure {
        Some(unsure) => Err(unsure),
        None => Ok((done, round_trips)),
    }
}

/// A write error as the server's reply has it.
fn refused(failure: &bson::Document, meta: &'static DocumentMeta) -> Error {
    let raw = RawDocumentBuf::try_from(failure).ok();
    let code = match failure.get("code") {
        Some(Bson::Int32(n)) => *n,
        Some(Bson::Int64(n)) => i32::try_from(*n).unwrap_or(0),
        _ => 0,
    };
    let refusal = Refusal {
        code,
        message: failure.get_str("errmsg").unwrap_or_default(),
        details: failure.get_document("errInfo").ok(),
        raw: raw.as_deref(),
    };
    write_error(Context::of(meta), refusal)
}

fn key(command: &'static str) -> Result<&'static bson::raw::CStr> {
    command.try_into().map_err(|source| Error::Encode {
        field: command.to_owned(),
        source: Box::new(source),
    })
}

fn statement(what: What, collation: Option<bson::Document>) -> Result<RawDocumentBuf> {
    let encode = |document: &bson::Document| {
        RawDocumentBuf::try_from(document).map_err(|source| Error::Encode {
            field: "write".to_owned(),
            source: Box::new(source),
        })
    };
    Ok(match what {
        What::Insert(raw) => raw,
        What::Update { filter, built, many } => {
            let mut statement = doc! { "q": filter, "multi": many };
            match built.pipeline() {
                Some(stages) => statement.insert("u", stages),
                None => statement.insert("u", built.update),
            };
            if !built.array_filters.is_empty() {
                statement.insert("arrayFilters", built.array_filters);
            }
            if let Some(collation) = collation {
                statement.insert("collation", collation);
            }
            encode(&statement)?
        }
        What::Replace { filter, pipeline, .. } => {
            encode(&doc! { "q": filter, "u": pipeline, "multi": false })?
        }
        What::Delete { filter, many } => {
            let mut statement = doc! { "q": filter, "limit": if many { 0 } else { 1 } };
            if let Some(collation) = collation {
                statement.insert("collation", collation);
            }
            encode(&statement)?
        }
    })
}
