//! Mixed writes over several collections.

use crate::api::bulk_write::{BulkPart, BulkWrite, refused};
use crate::engine::{self, Batching, Write, WriteKind, WriteOperation, Writes};
use crate::error::results::BulkDone;
use crate::store::core::Core;
use crate::store::cx::Cx;
use crate::store::options::sealed::Configure;
use crate::store::options::{HandleOptions, Options, WriteOptions};
use crate::store::routes::Routes;
use crate::store::trace::Trace;
use crate::store::transaction::Session;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use std::future::IntoFuture;
use std::sync::Arc;

/// Writes that `.await` executes together: [`add`](Bulk::add) takes the same builders that are awaited one by one elsewhere. A bulk is
/// not a transaction: use [`Tx::bulk`](crate::Tx::bulk) for that. Only a bulk that changes two-way references is executed as a
/// transaction, on a deployment that has them: then it is all or nothing, also where it is [`unordered`](Bulk::unordered).
///
/// Deletes of documents that others may refer to are executed separately, as [`Delete`](crate::Delete) says; consecutive
/// deletes in one collection are executed together. A delete that `on_delete = restrict` prevents is a refused write like any
/// other. The writes before and after them are sent in requests of their own.
///
/// An upsert is sent with the other writes, unless a declared bound or the range of an integer type can hold the change back, it
/// stores declared defaults, or rules of references and copies apply to it: then it is an operation of its own between them.
///
/// [`BulkDone::missed`] counts updates and replacements of one document that change nothing, and would return an error outside of
/// a bulk: the document does not exist, has another version, or a bound, a `null` or a field under a previous name keeps it from
/// being changed; or its array already has the struct that `add_to_set` would add.
///
/// # Errors
/// [`Error::Bulk`] with the position of each write that was refused, and what the others did. These are found before anything is
/// sent, and then none is executed, whether ordered or not: writes that break a bound, are too large or can't be encoded; those
/// that [`add`](Bulk::add) refuses. (An insert that fills in copies is checked when it has them: after the deletes before it that
/// look up references.) For an update by which a document would pass 16 MiB the error has the sizes of the added values; a single
/// [`Update`](crate::Update) names the largest fields of the document too. [`Error::MissingReference`] where a document that a write refers to does not exist: then
/// no write is executed, or they are undone. Where separately executed deletes come before these writes, the deletes stay: the
/// error is then an [`Error::Bulk`] that contains this error, or any other one that ended the writes between two such deletes,
/// at the position of the first of these writes.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
/// let (people, accounts) = (odm.collection::<Person>(), odm.collection::<Account>());
/// let done = odm
///     .bulk()
///     .add(people.insert(new))
///     .add(accounts.update(&7).inc(|a| a.cents, 500))
///     .add(accounts.delete_where(|a| a.cents.eq(0)))
///     .await?;
/// println!("{} inserted, {} changed, {} deleted", done.inserted, done.modified, done.deleted);
/// # Ok(()) }
/// ```
#[must_use = "a bulk does nothing until it is awaited"]
pub struct Bulk {
    odm: Odm,
    /// The options of the handle, without those of the bulk itself.
    options: HandleOptions,
    session: Option<Session>,
    writes: Vec<Write>,
    ordered: bool,
    by_runs: bool,
    /// Those that can't be sent, with their positions.
    refused: Vec<(usize, Error)>,
    /// The shard keys of the documents that its writes were given.
    routes: Routes,
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
    /// let (people, accounts) = (odm.collection::<Person>(), odm.collection::<Account>());
    /// odm.bulk().add(people.insert(new)).add(accounts.delete(&7)).await?;
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
            options: odm.handle_options().clone(),
            odm,
            session,
            writes: Vec::new(),
            ordered: true,
            by_runs: false,
            refused: Vec::new(),
            routes: Routes::default(),
        }
    }

    /// Adds a write: an insert, an update or an upsert, a replacement or a deletion, as a collection makes it, by the id, by a
    /// unique key or by a condition. [`BulkWrite`] lists all of them; anything else does not compile.
    ///
    /// The collection comes from the handle of the bulk: from the same [`Odm`] and scope, or from the same
    /// [`Tx`](crate::Tx). Options such as a comment are those of the bulk: `bulk.comment(…)`.
    ///
    /// # Errors
    /// None here: `.await` returns [`Error::Bulk`] with [`Error::Query`] at the position of the write, before anything is sent,
    /// where it is of another handle, scope or transaction; where it has options of its own, a collation that is not on the condition of
    /// an `update_where` or `delete_where` of documents without relationships and hooks, or `count_refused`; and for an upsert by
    /// a condition that demands no unique key.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, kate: Person, mut account: Account) -> odm::Result<()> {
    /// let (people, accounts) = (odm.collection::<Person>(), odm.collection::<Account>());
    /// account.cents = 0;
    /// let done = odm
    ///     .bulk()
    ///     .add(people.update(kate.id).inc(|p| p.age, 1).push(|p| p.tags, "rust"))
    ///     .add(people.update_where(|p| p.age.lt(18)).add_to_set(|p| p.tags, "minor"))
    ///     .add(accounts.update(&8).set(|a| a.owner, kate.id).set(|a| a.cents, 0).upsert())
    ///     .add(accounts.replace(account))
    ///     .add(accounts.delete(&9))
    ///     .await?;
    /// println!("{} found, {} missed, {} new", done.matched, done.missed, done.upserted);
    /// # Ok(()) }
    /// ```
    #[allow(clippy::should_implement_trait)]
    pub fn add(mut self, write: impl BulkWrite) -> Bulk {
        self.push(write.into_part());
        self
    }

    /// Adds several writes, as [`add`](Bulk::add) does one. In a loop, `bulk = bulk.add(…)` and [`Extend`] do the same.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, people: Collection<Person>, new: Vec<NewPerson>, gone: Vec<Person>) -> odm::Result<()> {
    /// let done = odm
    ///     .bulk()
    ///     .add_all(new.into_iter().map(|new| people.insert(new)))
    ///     .add_all(gone.iter().map(|gone| people.delete(gone.id)))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn add_all(mut self, writes: impl IntoIterator<Item = impl BulkWrite>) -> Bulk {
        self.extend(writes);
        self
    }

    fn push(&mut self, part: BulkPart) {
        let BulkPart { core, what } = part;
        let (at, meta) = (self.writes.len() + self.refused.len(), core.meta());
        match self.takes(&core).and(what) {
            Ok(what) => {
                if let Some(given) = core.routes().filter(|routes| !routes.is_of_transaction()) {
                    self.routes.add(&given);
                }
                self.writes.push(Write { at, meta, what });
            }
            Err(error) => self.refused.push((at, error)),
        }
    }

    /// Refuses a write that is not of the handle of the bulk.
    ///
    /// # Errors
    /// [`Error::Query`].
    fn takes(&self, core: &Core) -> Result<()> {
        let odm = core.odm();
        let why = match (&self.session, core.session()) {
            (None, Some(_)) => {
                "the write is of a transaction, and the bulk is not: begin the bulk by `tx.bulk()`"
            }
            (Some(_), None) => {
                "the bulk is of a transaction, and the write is not: take the collection from the transaction, `tx.collection()`"
            }
            (Some(own), Some(other)) if !own.is_same(other) => {
                "the write is of another transaction than the bulk: take the collection and the bulk from one `Tx`"
            }
            _ if !self.odm.is_same(odm) => {
                "the write is of another `Odm` than the bulk: take the collection and the bulk from one handle, or from its clones"
            }
            _ if self.odm.scopes() != odm.scopes() => {
                "the write is in another scope than the bulk: take the collection and the bulk from one handle, after `scoped` or \
                 `with_deleted` of the `Odm`"
            }
            _ if !self.options.is_same(odm.handle_options()) => {
                "the write has options of its own, and a bulk has one set of options for all of its writes: give them to the bulk, by \
                 `bulk.comment(…)` or `bulk.write_concern(…)`"
            }
            _ => return Ok(()),
        };
        Err(refused(core.meta(), why))
    }

    /// Continues after a refused write. The writes are executed in any order.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, new: NewPerson) -> odm::Result<()> {
    /// let (people, accounts) = (odm.collection::<Person>(), odm.collection::<Account>());
    /// match odm.bulk().add(accounts.delete(&7)).add(people.insert(new)).unordered().await {
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
}

impl<W: BulkWrite> Extend<W> for Bulk {
    fn extend<I: IntoIterator<Item = W>>(&mut self, writes: I) {
        for write in writes {
            self.push(write.into_part());
        }
    }
}

impl IntoFuture for Bulk {
    type Output = Result<BulkDone>;
    type IntoFuture = BoxFuture<'static, Result<BulkDone>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Bulk {
                odm,
                options: _,
                session,
                mut writes,
                ordered,
                by_runs,
                mut refused,
                routes,
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
            let known = Arc::new(match &session {
                Some(session) => routes.inside(session.routes()),
                None => routes,
            });
            let trace = Trace::new("(several)", "bulk")
                .concealing(odm.graph().sensitive())
                .knowing(Some(known));
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
