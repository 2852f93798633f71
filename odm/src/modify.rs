//! Updates of one document and of many, with the bounds that prevent them.

use crate::collection::{Core, act};
use crate::model::document::DocumentMeta;
use crate::operators::{Built, Change, Changes, Guard, Known, NO_FIELD, growth};
use crate::own_fields::OWN;
use crate::query::find::Query;
use crate::relation::{self, Duties, Outcome, Parts, Token, What, Write};
use crate::session::Shared;
use crate::store::trace::Trace;
use crate::upsert::{self, UniqueKey};
use crate::write::{PRIMARY, amend, missed, peek, target_filter};
use crate::{Collection, Document, Error, Filter, Insertable, Result, model::check, store::decode};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocument, RawDocumentBuf, doc};
use mongodb::options::{Collation, ReturnDocument};
use std::future::IntoFuture;

/// The result of an update.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
/// [`Error::NotFound`], [`Error::Conflict`], [`Error::ArrayFull`], [`Error::IsNull`], [`Error::Invalid`],
/// [`Error::DuplicateKey`], [`Error::TooLarge`]; [`Error::Query`] where two changes of one field can't be one update.
/// [`Error::MissingReference`] where the target of an added reference does not exist; from the other side of a two-way
/// reference [`Error::ArrayFull`], and [`Error::Query`] where a document there would lose a required reference.
/// [`Error::Unsupported`] for a raw operator on a two-way reference where the deployment has no transactions and the result
/// can't be predicted.
///
/// # Cost
/// One round trip, also without any change; one more to find out why, where it was refused: where the document would pass 16 MiB, one that reads the
/// whole of it to name its largest fields (none within a transaction). A change that adds references: one before for their
/// previous values, and one before and one after for each collection that they name. A change of two-way references: one before
/// for their previous values, one after for each collection on the other side, one for the commit; two more where single
/// references are taken over from other documents, to find those and to remove the links there; and one after the change where
/// its result can't be predicted.
///
/// # Example
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// let done = people.update(&kate).set(|p| p.name, "Kate Monster").await?;
/// assert_eq!(done.matched, 1);
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct Update<T: Document> {
    collection: Collection<T>,
    id: Result<Bson>,
    seen: Option<i64>,
    changes: Changes<T>,
    upsert: bool,
    collation: Option<Collation>,
}

impl<T: Document> Change<T> for Update<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.changes
    }
}

/// How often a change that a bound held back is tried again when the bound no longer does so a moment later.
const ATTEMPTS: usize = 5;

impl<T: Document> Update<T> {
    pub(crate) fn new(collection: &Collection<T>, id: Result<Bson>, seen: Option<i64>) -> Self {
        Update {
            collection: collection.clone(),
            id,
            seen,
            changes: Changes::new(),
            upsert: false,
            collation: None,
        }
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// The server's validator decides whether such a document is whole.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(accounts: Collection<Account>, owner: ObjectId) -> odm::Result<()> {
    /// let done = accounts.update(&7).set(|a| a.owner, owner).set(|a| a.cents, 0).upsert().await?;
    /// if done.upserted.is_some() {
    ///     println!("a new account");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn upsert(mut self) -> Self
    where
        T: Insertable<T>,
    {
        self.upsert = true;
        self
    }

    /// Gives the document as it is after the change.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// if let Some(kate) = people.update(&kate).inc(|p| p.age, 1).returning().await? {
    ///     println!("{} is {} now", kate.name, kate.age);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn returning(self) -> Returning<T> {
        Returning {
            update: self,
            which: ReturnDocument::After,
        }
    }

    /// Gives the document as it was before the change.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// let before = people.update(&kate).set(|p| p.nickname, "Katie").returning_before().await?;
    /// # Ok(()) }
    /// ```
    pub fn returning_before(self) -> Returning<T> {
        Returning {
            update: self,
            which: ReturnDocument::Before,
        }
    }

    /// The same, without its type.
    fn untyped(self) -> Untyped {
        Untyped {
            core: self.collection.core().clone(),
            id: self.id,
            seen: self.seen,
            changes: self.changes.untyped(),
            upsert: self.upsert,
            collation: self.collation,
        }
    }
}

/// An update of one document, without its type.
struct Untyped {
    core: Core,
    id: Result<Bson>,
    seen: Option<i64>,
    changes: Changes<()>,
    upsert: bool,
    collation: Option<Collation>,
}

impl Untyped {
    /// Whether there is nothing to write.
    fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.upsert
    }

    /// With the stored id.
    async fn named(mut self) -> Result<Self> {
        if let Some(collation) = self.collation.take() {
            let id = relation::id_by_collation(&self.core, self.id?, collation).await?;
            self.id = Ok(id);
        }
        Ok(self)
    }

    /// An update without any change: the document is there, and has the version that was seen.
    async fn unchanged(self) -> Result<Updated> {
        let (id, seen, meta) = (self.id?, self.seen, self.core.meta());
        let trace = self.core.trace("update");
        trace
            .run(async {
                trace.done(1, 0);
                let stored = peek(&self.core, &id, meta.version()).await?;
                missed(meta, &id, seen, stored.as_ref()).map_or_else(|| Ok(Outcome::unchanged().into()), Err)
            })
            .await
    }

    fn prepare(self, reply: Reply) -> Result<Prepared> {
        let meta = self.core.meta();
        let mut built = self.changes.build_for(meta, self.upsert, crate::now())?;
        let id = self.id?;
        if built.update.is_empty() {
            // An upsert without a change makes sure that the document is there; the server takes no empty update.
            built.update = doc! { "$setOnInsert": { "_id": &id } };
        }
        relation::prepare(self.core.odm(), meta, &mut built)?;
        if self.upsert {
            built.fills_at_once(meta.collection, "an upsert")?;
        }
        let mut filter = target_filter(meta, &id, self.seen);
        guarded(&mut filter, &built.guards);
        Ok(Prepared {
            core: self.core,
            id,
            seen: self.seen,
            filter,
            built,
            upsert: self.upsert,
            token: None,
            reply,
        })
    }

    /// Executes the update.
    async fn update(self) -> Result<Updated> {
        if self.is_empty() {
            return self.unchanged().await;
        }
        let mut prepared = self.named().await?.prepare(Reply::Counts)?;
        let trace = prepared.core.trace("update");
        trace.values("filter", &prepared.filter);
        trace.values("update", &prepared.built.update);
        trace.run(prepared.execute(&trace)).await.map(Updated::from)
    }

    /// Executes the update, and gives the document.
    async fn returning(self, which: ReturnDocument) -> Result<Option<RawDocumentBuf>> {
        let update = self.named().await?;
        if update.is_empty() {
            let id = update.id?;
            return match read(&update.core, &id).await? {
                Some(document) => Ok(Some(document)),
                None => Err(Error::NotFound {
                    collection: update.core.meta().collection,
                    id: Box::new(id),
                }),
            };
        }
        let mut prepared = update.prepare(Reply::Document(which))?;
        let trace = prepared.core.trace("update_returning");
        trace.values("filter", &prepared.filter);
        trace.values("update", &prepared.built.update);
        let made = trace.run(prepared.execute(&trace)).await?;
        Ok(made.document)
    }
}

/// The document with this id, as it is on the primary.
async fn read(core: &Core, id: &Bson) -> Result<Option<RawDocumentBuf>> {
    let mut query = Query::new(core.clone(), Filter::raw(doc! { "_id": { "$eq": id } }));
    if core.session().is_none() {
        query.options.selection_criteria = Some(PRIMARY);
    }
    let mut found = None;
    let mut take = |document: &RawDocument| {
        found = Some(document.to_owned());
        Ok(())
    };
    query.first(&mut take).await?;
    Ok(found)
}

struct Prepared {
    core: Core,
    id: Bson,
    seen: Option<i64>,
    filter: mongodb::bson::Document,
    built: Built,
    upsert: bool,
    /// The token of the pending work that it records.
    token: Option<Token>,
    reply: Reply,
}

/// The answer that an update of one document asks the server for.
#[derive(Clone)]
enum Reply {
    /// How many documents matched, and how many were changed.
    Counts,
    /// The document before or after the update.
    Document(ReturnDocument),
}

/// Why an update matched no document.
enum Verdict {
    /// The change can't be made.
    Refused(Error),
    /// There is nothing to change: the array whose items were to change, or to go, is missing.
    Nothing,
    /// Items that were to be added are there: this is left to do.
    Less(Box<Built>),
    /// Nothing holds it back any more.
    Again,
}

impl Prepared {
    async fn verdict(&self, core: &Core) -> Result<Verdict> {
        let names = self
            .built
            .guards
            .iter()
            .map(Guard::name)
            .chain(self.core.meta().version());
        let met = self.built.guards.iter().find_map(Guard::met);
        let (stored, idle) = match met {
            None => (peek(core, &self.id, names).await?, false),
            Some(any) => peek_items(core, &self.id, names, any).await?,
        };
        if stored.is_none()
            && let Some(error) = self.refused_insert()
        {
            return Ok(Verdict::Refused(error));
        }
        if let Some(error) = missed(self.core.meta(), &self.id, self.seen, stored.as_ref()) {
            return Ok(Verdict::Refused(error));
        }
        let value = |name: &str| stored.as_ref().and_then(|stored| at(stored, name));
        match self.built.without_known(&value) {
            Some(Known::All) => return Ok(Verdict::Nothing),
            Some(Known::Some(left)) => return Ok(Verdict::Less(left)),
            None => {}
        }
        for guard in &self.built.guards {
            let value = stored.as_ref().and_then(|stored| at(stored, guard.name()));
            if let Some(error) = guard.refusal(self.core.meta().collection, &self.id, value) {
                return Ok(Verdict::Refused(error));
            }
            if guard.has_nothing_to_do(value) {
                return Ok(Verdict::Nothing);
            }
        }
        if idle {
            return Ok(Verdict::Nothing);
        }
        for guard in &self.built.guards {
            let (Some(items), Some(error)) = (
                guard.offenders(),
                guard.offence(self.core.meta().collection, &self.id),
            ) else {
                continue;
            };
            let mut shown = doc! { "_id": 1 };
            // The first of the items that hold it back: the server takes this of a field at the top alone.
            if !guard.name().contains('.') {
                shown.insert(guard.name(), doc! { "$elemMatch": items.clone() });
            }
            let filter = doc! { "_id": &self.id, guard.name(): { "$elemMatch": items } };
            let mut action = core.raw().find_one(filter).projection(shown);
            if core.session().is_none() {
                action = action.selection_criteria(PRIMARY);
            }
            let found = act!(core.session(), action).map_err(|error| core.error(error))?;
            if let Some(found) = found {
                let found = mongodb::bson::Document::try_from(&*found).unwrap_or_default();
                return Ok(Verdict::Refused(guard.with_item(error, &found)));
            }
        }
        Ok(Verdict::Again)
    }

    /// The same of what is left to do.
    fn with(&self, built: Built) -> Self {
        let mut filter = target_filter(self.core.meta(), &self.id, self.seen);
        guarded(&mut filter, &built.guards);
        Prepared {
            core: self.core.clone(),
            id: self.id.clone(),
            seen: self.seen,
            filter,
            built,
            upsert: self.upsert,
            token: self.token,
            reply: self.reply.clone(),
        }
    }

    /// Why an upsert inserts nothing where there is no document, if it does not.
    fn refused_insert(&self) -> Option<Error> {
        refused_insert(self.core.meta(), &self.built, self.upsert, &self.id, &doc! {})
    }

    /// After the last attempt: what held it back came and went all the time.
    fn contended(&self) -> Error {
        Error::Contention {
            collection: self.core.meta().collection,
            message: format!(
                "the document with _id {} changed during each of {ATTEMPTS} attempts to update it: try again",
                self.id
            ),
            source: None,
        }
    }

    /// Whether an error may come from an upsert that tried to insert a document which is there already, since it lost a
    /// race or a guard held it back. The server may find any fault with such an insert before it finds the twin. Within
    /// a transaction the error has ended it, so nothing more can be found out.
    fn may_exist(&self, core: &Core, error: &Error) -> bool {
        let guarded = !self.built.guards.is_empty() || self.seen.is_some();
        // Where it is unknown whether the write was made, it may not be made once more.
        let refused = !matches!(error, Error::Unavailable { .. }) && is_refused(error);
        self.upsert && core.session().is_none() && (is_twin(error) || guarded && refused)
    }

    /// Completes the server's error where the document would pass 16 MiB: its size, its largest fields, and the sizes of the
    /// added values.
    ///
    /// The error has ended a transaction, and the document that is stored outside of it need not be the same.
    async fn explained(&self, error: Error, trace: &Trace) -> Error {
        let mut error = growth::told(error, &self.built.update);
        let Error::TooLarge {
            size,
            largest,
            source: Some(_),
            ..
        } = &mut error
        else {
            return error;
        };
        if self.core.session().is_some() {
            return error;
        }
        trace.more(1);
        let stored = self
            .core
            .raw()
            .find_one(doc! { "_id": { "$eq": &self.id } })
            .selection_criteria(PRIMARY);
        // Where it can't be read, or has been deleted meanwhile, the refusal is what is to be told.
        if let Ok(Some(stored)) = stored.await {
            let all = growth::grown(&stored, &self.built.update);
            *size = size.or((all > crate::model::size::MAX_DOCUMENT_SIZE).then_some(all));
            *largest = check::largest(&stored);
        }
        error
    }

    /// The error of an upsert in the caller's transaction, which the refusal has ended. If the document was inserted by another
    /// client and matches, the transaction is run again.
    async fn raced(&self, error: Error, trace: &Trace) -> Error {
        let Some(session) = self.core.session().filter(|_| self.upsert && is_twin(&error)) else {
            return error;
        };
        trace.more(1);
        match self.verdict(&self.core.within(None)).await {
            Ok(
                Verdict::Again
                | Verdict::Less(_)
                | Verdict::Nothing
                | Verdict::Refused(Error::NotFound { .. }),
            ) => {
                session.raced();
                error
            }
            Ok(Verdict::Refused(refusal)) => refusal,
            Err(_) => error,
        }
    }

    /// The cause of such an error.
    async fn behind(&self, core: &Core, error: Error, attempt: u64) -> Result<Verdict> {
        match self.verdict(core).await? {
            Verdict::Refused(Error::NotFound { .. }) if is_twin(&error) => Ok(Verdict::Again),
            Verdict::Refused(Error::NotFound { .. }) => Ok(Verdict::Refused(error)),
            Verdict::Again if attempt > 0 && !is_twin(&error) => Ok(Verdict::Refused(error)),
            verdict => Ok(verdict),
        }
    }
}

/// Whether the server refused the write.
fn is_refused(error: &Error) -> bool {
    use mongodb::error::ErrorKind;
    error
        .driver_error()
        .is_some_and(|error| matches!(&*error.kind, ErrorKind::Write(_) | ErrorKind::Command(_)))
}

/// Reads some fields of one document as [`peek`] does, and whether none of these conditions holds for it.
async fn peek_items(
    core: &Core,
    id: &Bson,
    names: impl IntoIterator<Item = &str>,
    any: &[mongodb::bson::Document],
) -> Result<(Option<mongodb::bson::Document>, bool)> {
    let mut fields = doc! { "_id": 1 };
    for name in names {
        crate::model::names::read_too(&mut fields, name);
    }
    let pipeline = vec![
        doc! { "$match": { "_id": { "$eq": id } } },
        doc! { "$facet": {
            "stored": [{ "$project": fields }],
            "idle": [{ "$match": { "$nor": any } }, { "$project": { "_id": 1 } }],
        } },
    ];
    let trips = std::sync::atomic::AtomicU64::new(0);
    let scope = relation::Scope::new(core.odm(), core.session(), &trips);
    let mut found = scope
        .aggregate(core.meta(), pipeline)
        .await?
        .pop()
        .unwrap_or_default();
    let mut first = |name: &str| match found.remove(name) {
        Some(Bson::Array(list)) => list.into_iter().next(),
        _ => None,
    };
    let stored = match first("stored") {
        Some(Bson::Document(stored)) => Some(stored),
        _ => None,
    };
    Ok((stored, first("idle").is_some()))
}

/// Whether a document with this id is there already.
fn is_twin(error: &Error) -> bool {
    matches!(error, Error::DuplicateKey { fields, .. } if fields.len() == 1 && fields[0] == "_id")
}

/// Why an upsert with these changes inserts nothing, if it does not: what it adds to a number that is not there passes
/// the number's bound.
fn refused_insert(
    meta: &DocumentMeta,
    built: &Built,
    upsert: bool,
    id: &Bson,
    condition: &mongodb::bson::Document,
) -> Option<Error> {
    let mut guards = built.guards.iter().filter(|_| upsert);
    guards.find_map(|guard| guard.refused_insert(meta.collection, id, condition))
}

fn guarded(filter: &mut mongodb::bson::Document, guards: &[Guard]) {
    let mut conditions: Vec<_> = guards.iter().map(Guard::condition).collect();
    // One condition stands beside the others, which is less for the server to take apart.
    if let [one] = conditions.as_mut_slice()
        && !one.keys().any(|name| filter.contains_key(name))
    {
        filter.extend(std::mem::take(one));
    } else if !conditions.is_empty() {
        filter.insert("$and", conditions);
    }
}

/// The value at a dotted name.
fn at<'d>(document: &'d mongodb::bson::Document, name: &str) -> Option<&'d Bson> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?)?;
    for part in parts {
        value = value.as_document()?.get(part)?;
    }
    Some(value)
}

impl Prepared {
    /// Puts the copies in that it writes.
    async fn amend(&mut self, trace: &Trace) -> Result<()> {
        self.core.odm().know_declarations(trace).await?;
        amend(&self.core, trace)
            .update(
                self.core.meta(),
                Some(&self.id),
                &mut self.built,
                self.upsert,
                &mut self.token,
            )
            .await
    }

    /// Executes the update, with what its references ask for.
    async fn execute(&mut self, trace: &Trace) -> Result<Outcome> {
        self.amend(trace).await?;
        let core = &self.core;
        let what = What::Update {
            filter: &self.filter,
            built: &self.built,
            many: false,
            upsert: self.upsert,
        };
        let meta = core.meta();
        let writes = [Write { meta, what }].into_iter();
        let Some(duties) = Duties::of(core.odm(), writes, self.token)? else {
            return self.send(core.clone(), trace).await;
        };
        let again = core.session().is_none() && duties.is_one().await?;
        let mut less: Option<Self> = None;
        for attempt in 0..ATTEMPTS as u64 {
            let this = less.as_ref().unwrap_or(self);
            let send = |session: Option<Shared>| this.send(core.within(session), trace);
            match duties.execute(core.session(), trace, &send).await {
                // What ended the transaction is found out after it.
                Err(error) if again && this.may_exist(core, &error) => {
                    match this.behind(core, error, attempt).await? {
                        Verdict::Refused(error) => return Err(error),
                        Verdict::Nothing => return Ok(Outcome::unchanged()),
                        Verdict::Less(built) => less = Some(this.with(*built)),
                        Verdict::Again => {}
                    }
                }
                made => return made,
            }
        }
        Err(self.contended())
    }

    /// Sends the update.
    fn send<'a>(&'a self, core: Core, trace: &'a Trace) -> BoxFuture<'a, Result<Outcome>> {
        async move {
            match &self.reply {
                Reply::Counts => self.update(&core, trace).await,
                Reply::Document(which) => self.returning(&core, which, trace).await,
            }
        }
        .boxed()
    }

    async fn update(&self, core: &Core, trace: &Trace) -> Result<Outcome> {
        self.fill(core, trace).await?;
        let mut less: Option<Self> = None;
        for attempt in 0..ATTEMPTS as u64 {
            let this = less.as_ref().unwrap_or(self);
            let update = this.built.modifications();
            let mut action = core.raw().update_one(this.filter.clone(), update);
            if self.upsert {
                action = action.upsert(this.refused_insert().is_none());
            }
            if !this.built.array_filters.is_empty() {
                action = action.array_filters(this.built.array_filters.clone());
            }
            let result = act!(core.session(), action).map_err(|error| core.error(error));
            match result {
                Ok(ref result) if result.matched_count > 0 || result.upserted_id.is_some() => {
                    trace.done(attempt * 2 + 1, result.modified_count);
                    return Ok(Outcome {
                        matched: result.matched_count,
                        modified: result.modified_count,
                        upserted: result.upserted_id.clone(),
                        ..Outcome::default()
                    });
                }
                Err(error) if !this.may_exist(core, &error) => {
                    trace.done(attempt * 2 + 1, 0);
                    let error = this.raced(error, trace).await;
                    return Err(this.explained(error, trace).await);
                }
                _ => {}
            }
            trace.done(attempt * 2 + 2, 0);
            let verdict = match result {
                Err(error) => this.behind(core, error, attempt).await?,
                Ok(_) => this.verdict(core).await?,
            };
            match verdict {
                Verdict::Refused(error) => return Err(this.explained(error, trace).await),
                Verdict::Nothing => return Ok(Outcome::unchanged()),
                Verdict::Less(built) => less = Some(this.with(*built)),
                Verdict::Again => {}
            }
        }
        Err(self.contended())
    }

    /// Fills the defaults that the change begins with and can't fill itself.
    async fn fill(&self, core: &Core, trace: &Trace) -> Result<()> {
        match self.built.fills_first() {
            true => {
                fill(
                    core,
                    &self.built,
                    target_filter(self.core.meta(), &self.id, self.seen),
                    trace,
                )
                .await
            }
            false => Ok(()),
        }
    }

    async fn returning(&self, core: &Core, which: &ReturnDocument, trace: &Trace) -> Result<Outcome> {
        let found = |document: Option<RawDocumentBuf>| Outcome {
            document,
            ..Outcome::default()
        };
        let inserts = self.upsert && self.refused_insert().is_none();
        // The server's answer with the document as it is afterwards does not say whether it was inserted. Where something
        // follows from that, the insert is a command of its own.
        let is_before = matches!(which, ReturnDocument::Before);
        let apart = inserts && !is_before && core.odm().graph().is_related(self.core.meta());
        let mut sent = 0;
        let mut less: Option<Self> = None;
        self.fill(core, trace).await?;
        for attempt in 0..ATTEMPTS as u64 {
            let this = less.as_ref().unwrap_or(self);
            sent += 1;
            let filter = this.filter.clone();
            let sending = this.find_and_update(core, which, filter, inserts && !apart);
            let mut result = sending.await;
            let mut inserted = inserts && is_before;
            if apart && matches!(result, Ok(None)) {
                sent += 1;
                // An existing document is not changed: it is a twin then.
                let mut filter = this.filter.clone();
                filter.insert(OWN, doc! { "$type": "minKey" });
                result = this.find_and_update(core, which, filter, true).await;
                inserted = true;
            }
            match result {
                Ok(Some(document)) => {
                    trace.done(sent, 1);
                    return Ok(Outcome {
                        upserted: (inserted && !is_before).then(|| self.id.clone()),
                        ..found(Some(document))
                    });
                }
                // Nothing was there before, and now it is.
                Ok(None) if inserted => {
                    trace.done(sent, 1);
                    return Ok(Outcome {
                        upserted: Some(self.id.clone()),
                        ..Outcome::default()
                    });
                }
                Err(error) if !this.may_exist(core, &error) => {
                    trace.done(sent, 0);
                    let error = this.raced(error, trace).await;
                    return Err(this.explained(error, trace).await);
                }
                _ => {}
            }
            sent += 1;
            trace.done(sent, 0);
            let verdict = match result {
                Err(error) => this.behind(core, error, attempt).await?,
                Ok(_) => this.verdict(core).await?,
            };
            match verdict {
                Verdict::Refused(error) => return Err(this.explained(error, trace).await),
                Verdict::Nothing => {
                    return read(core, &self.id).await.map(found);
                }
                Verdict::Less(built) => less = Some(this.with(*built)),
                Verdict::Again => {}
            }
        }
        Err(self.contended())
    }

    async fn find_and_update(
        &self,
        core: &Core,
        which: &ReturnDocument,
        filter: mongodb::bson::Document,
        upsert: bool,
    ) -> Result<Option<RawDocumentBuf>> {
        let update = self.built.modifications();
        let mut action = core
            .raw()
            .find_one_and_update(filter, update)
            .return_document(which.clone());
        if upsert {
            action = action.upsert(true);
        }
        if !self.built.array_filters.is_empty() {
            action = action.array_filters(self.built.array_filters.clone());
        }
        act!(core.session(), action).map_err(|error| core.error(error))
    }
}

impl From<Outcome> for Updated {
    fn from(outcome: Outcome) -> Updated {
        Updated {
            matched: outcome.matched,
            modified: outcome.modified,
            upserted: outcome.upserted,
            refused: outcome.refused,
            copies_updated: outcome.copies,
        }
    }
}

/// Executes changes that are built already, of a document of which a version was seen.
pub(crate) fn apply(core: &Core, id: Bson, seen: i64, mut built: Built) -> BoxFuture<'_, Result<Updated>> {
    async move {
        let meta = core.meta();
        // The number and the sums of the items are written too, so the update does not change items alone.
        built.met = None;
        relation::prepare(core.odm(), meta, &mut built)?;
        let mut filter = target_filter(meta, &id, Some(seen));
        guarded(&mut filter, &built.guards);
        let mut prepared = Prepared {
            core: core.clone(),
            id,
            seen: Some(seen),
            filter,
            built,
            upsert: false,
            token: None,
            reply: Reply::Counts,
        };
        let trace = core.trace("update");
        trace.run(prepared.execute(&trace)).await.map(Updated::from)
    }
    .boxed()
}

impl<T: Document> IntoFuture for Update<T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'static, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        update(self.untyped())
    }
}

fn update(update: Untyped) -> BoxFuture<'static, Result<Updated>> {
    update.update().boxed()
}

fn returning(update: Untyped, which: ReturnDocument) -> BoxFuture<'static, Result<Option<RawDocumentBuf>>> {
    update.returning(which).boxed()
}

/// An update that returns the document. `.await` executes it; the result is `None` only for
/// [`returning_before`](Update::returning_before) of an upsert that inserted the document.
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
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// let older = people.update(&kate).inc(|p| p.age, 1).returning().await?;
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct Returning<T: Document> {
    update: Update<T>,
    which: ReturnDocument,
}

impl<T: Document> Change<T> for Returning<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.update.changes
    }
}

impl<T: Document> IntoFuture for Returning<T> {
    /// The document; `None` only for `returning_before` of an upsert that inserted it.
    type Output = Result<Option<T>>;
    type IntoFuture = BoxFuture<'static, Result<Option<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Returning { update, which } = self;
            let update = update.untyped();
            let seen = update.seen.filter(|_| update.is_empty());
            let Some(found) = returning(update, which).await? else {
                return Ok(None);
            };
            let document: T = decode::decode(T::META, &found)?;
            match (seen, document.version()) {
                (Some(seen), Some(found)) if found != seen => Err(Error::Conflict {
                    collection: T::META.collection,
                    id: Box::new(crate::query::operand::id(document.id())?),
                    seen,
                    found: Some(found),
                }),
                _ => Ok(Some(document)),
            }
        }
        .boxed()
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
/// stored under a previous name (a serde `alias`), or with [`count_refused`](UpdateMany::count_refused). An upsert that is
/// retried, since another client has inserted the document: one more each time, and after the first retry one that looks up the
/// document. For references as [`Update`], however many documents there are up to 1,000; for more, each 1,000 cost that, and
/// one to find them.
///
/// # Example
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// people.update_where(|p| p.addresses.city.eq("Bonn")).add_to_set(|p| p.tags, "rhine").await?;
/// # Ok(()) }
/// ```
#[must_use = "an update does nothing until it is awaited"]
#[derive(Debug)]
pub struct UpdateMany<T: Document> {
    collection: Collection<T>,
    filter: Filter<T>,
    changes: Changes<T>,
    upsert: bool,
    counts: bool,
    collation: Option<Collation>,
}

impl<T: Document> Change<T> for UpdateMany<T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.changes
    }
}

impl<T: Document> UpdateMany<T> {
    pub(crate) fn new(collection: &Collection<T>, filter: Filter<T>) -> Self {
        UpdateMany {
            collection: collection.clone(),
            filter,
            changes: Changes::new(),
            upsert: false,
            counts: false,
            collation: None,
        }
    }

    /// Counts all documents that are left as they are, in [`Updated::refused`]: those too that the range of an integer type held
    /// back (an `i32` that would pass `i32::MAX`). These are never changed; by default they are not counted, so that an `inc` of a
    /// field without declared bounds is one round trip.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// matches, since that is not known before.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
}

impl<T: Document> IntoFuture for UpdateMany<T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'static, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        update_where(UntypedMany {
            core: self.collection.core().clone(),
            filter: self.filter.untyped(),
            changes: self.changes.untyped(),
            upsert: self.upsert,
            counts: self.counts,
            collation: self.collation,
        })
    }
}

/// An update of many documents, without their type.
struct UntypedMany {
    core: Core,
    filter: Filter<()>,
    changes: Changes<()>,
    upsert: bool,
    counts: bool,
    collation: Option<Collation>,
}

fn update_where(update: UntypedMany) -> BoxFuture<'static, Result<Updated>> {
    async move {
            if update.changes.is_empty() && !update.upsert {
                return Ok(Updated::default());
            }
            let (core, meta) = (&update.core, update.core.meta());
            let mut built = update.changes.build_for(meta, update.upsert, crate::now())?;
            let (filter, given) = match update.upsert {
                true => update.filter.into_upsert()?,
                false => (update.filter.into_document()?, Vec::new()),
            };
            built.begin_with(&filter, &given);
            if built.update.is_empty() {
                // An upsert without a change; the server takes no empty update, and no document has this.
                built.update = doc! { "$unset": { NO_FIELD: "" } };
            }
            relation::prepare(core.odm(), meta, &mut built)?;
            if update.upsert {
                built.insert_given(meta.collection, given)?;
                relation::prepare_upsert(core.odm(), meta, &filter, &mut built)?;
                built.fills_at_once(meta.collection, "an upsert")?;
            }
            // An upsert must not insert beside a document that the range of a type holds back. By a whole unique key it can't.
            let keys = match update.upsert && update.collation.is_none() {
                true => UniqueKey::all_of(core.odm().graph(), meta, &filter, &built.update),
                false => Vec::new(),
            };
            let finds_twin = core.session().is_none() && !keys.is_empty();
            let counts = update.counts || update.upsert && !finds_twin;
            let trace = core.trace("update_where");
            trace.values("filter", &filter);
            trace.values("update", &built.update);
            let graph = core.odm().graph();
            let by_rules = graph.is_related(meta) || graph.is_depended_on(meta);
            trace
                .run(async {
                    let (filter, collation) = match update.collation {
                        Some(_) if by_rules && update.upsert => return Err(upsert_by_collation(meta)),
                        Some(collation) if by_rules => {
                            let found = relation::by_collation(core, filter, collation);
                            (found.await?, None)
                        }
                        collation => (filter, collation),
                    };
                    for _ in 0..ATTEMPTS {
                        let mut whole =
                            Many::of(meta.collection, filter.clone(), built.clone(), update.upsert, counts)?;
                        whole.collation.clone_from(&collation);
                        whole.keys.clone_from(&keys);
                        let held = whole.held_uncounted.clone();
                        match whole.execute(core, &trace, true).await {
                            Ok(done) if !done.too_many => return Ok(done.into()),
                            Ok(_) => {}
                            // The document with this key may be one that the range of a type held back. The server may find
                            // any fault with the new one before it finds that one.
                            Err(error) if held.is_some() && is_refused(&error) => {
                                trace.more(1);
                                return match count(core, held, collation.as_ref()).await? {
                                    0 => Err(error),
                                    refused => Ok(Updated {
                                        refused,
                                        ..Updated::default()
                                    }),
                                };
                            }
                            Err(error) => return Err(error),
                        }
                        let updated = in_parts(core, &trace, &filter, &built, counts).await?;
                        // They may have gone before the first part, and then there is something to insert.
                        if !update.upsert || updated.matched + updated.refused > 0 {
                            return Ok(updated);
                        }
                    }
                    Err(Error::Contention {
                        collection: meta.collection,
                        message: format!(
                            "the matching documents changed during each of {ATTEMPTS} attempts to update them: try again"
                        ),
                        source: None,
                    })
                })
                .await
        }
        .boxed()
}

fn upsert_by_collation(meta: &DocumentMeta) -> Error {
    Error::Query {
        collection: meta.collection,
        message: "an upsert of documents with relationships uses the collation of their collection: declare it there, with \
                  `#[document(collation(locale = \"…\"))]`"
            .to_owned(),
    }
}

struct Many {
    condition: mongodb::bson::Document,
    /// The condition, with what must hold of the documents.
    guarded: mongodb::bson::Document,
    /// The condition of those that fit and that a bound holds back, where they are counted.
    held: Option<mongodb::bson::Document>,
    /// The same of the range of a type, where it is not counted.
    held_uncounted: Option<mongodb::bson::Document>,
    /// The condition of those that fit and have the item that is added by its value already.
    has: Option<mongodb::bson::Document>,
    /// The condition without what must hold of the documents, where defaults are filled before.
    to_fill: Option<mongodb::bson::Document>,
    built: Built,
    upsert: bool,
    collation: Option<Collation>,
    /// Of an upsert: the unique keys of which the condition demands all values, so that it fits one document at most.
    keys: Vec<UniqueKey>,
}

impl Many {
    fn of(
        collection: &'static str,
        filter: mongodb::bson::Document,
        built: Built,
        upsert: bool,
        counts: bool,
    ) -> Result<Many> {
        let has = built.adds_alone(collection)?;
        let has = has.map(|there| doc! { "$and": [filter.clone(), there] });
        let mut guarded = filter.clone();
        if !built.guards.is_empty() {
            let mut conditions = vec![Bson::Document(guarded)];
            conditions.extend(built.guards.iter().map(|guard| Bson::Document(guard.condition())));
            guarded = doc! { "$and": conditions };
        }
        let held = |counted: &dyn Fn(&Guard) -> bool| {
            let bounds: Vec<Bson> = built
                .guards
                .iter()
                // Where nothing can hold the change back but that there is nothing to change, there is nothing to count.
                .filter(|guard| !guard.lets_be() && counted(guard))
                .map(|guard| Bson::Document(guard.condition()))
                .collect();
            // MongoDB counts by a pipeline, in which it refuses `$near`: then those held back are not known.
            let counts = !bounds.is_empty() && !crate::query::filter::has_near(&filter);
            counts.then(|| doc! { "$and": [filter.clone(), { "$nor": [{ "$and": bounds }] }] })
        };
        Ok(Many {
            guarded,
            held: held(&|guard| counts || !guard.is_of_type()),
            held_uncounted: held(&|guard| !counts && upsert && guard.is_of_type()),
            // An update that inserts nothing counts them with its own documents.
            has: has.filter(|_| upsert),
            to_fill: built.fills_first().then(|| filter.clone()),
            built,
            upsert,
            collation: None,
            keys: Vec::new(),
            condition: filter,
        })
    }

    /// Executes it at once, with what its references ask for; nothing of it where it can be executed in parts, and is for too many
    /// documents.
    async fn execute(mut self, core: &Core, trace: &Trace, in_parts: bool) -> Result<Outcome> {
        core.odm().know_declarations(trace).await?;
        let mut token = None;
        amend(core, trace)
            .update(core.meta(), None, &mut self.built, self.upsert, &mut token)
            .await?;
        let many = &self;
        let what = What::Update {
            filter: &many.guarded,
            built: &many.built,
            many: true,
            upsert: many.upsert,
        };
        let update = |session: Option<Shared>| {
            let core = core.within(session);
            async move { many.update(&core, trace).await }.boxed()
        };
        let meta = core.meta();
        let writes = [Write { meta, what }].into_iter();
        match Duties::of(core.odm(), writes, token)? {
            None => update(core.session().cloned()).await,
            Some(duties) if in_parts => duties.in_parts().execute(core.session(), trace, &update).await,
            Some(duties) => duties.execute(core.session(), trace, &update).await,
        }
    }
}

/// Executes an update for a part of the documents at a time. Each part reads its copies anew, and has a token of its own: a
/// process that has read the pending work of one part may clear it while the next one is executed.
async fn in_parts(
    core: &Core,
    trace: &Trace,
    filter: &mongodb::bson::Document,
    built: &Built,
    counts: bool,
) -> Result<Updated> {
    let mut parts = Parts::of(core.odm(), trace, core.meta(), filter.clone()).await?;
    let mut all = Updated::default();
    let mut round_trips = 0;
    while let Some(part) = parts.next().await? {
        let part = Many::of(core.meta().collection, part, built.clone(), false, counts)?;
        round_trips += part.round_trips();
        let updated: Updated = match part.execute(core, trace, false).await.map(Updated::from) {
            Ok(updated) => updated,
            // The parts before it stay.
            Err(error) if all.modified > 0 && core.session().is_none() => {
                return Err(error.after_a_part(core.meta().collection));
            }
            Err(error) => return Err(error),
        };
        all.matched += updated.matched;
        all.modified += updated.modified;
        all.refused += updated.refused;
        all.copies_updated += updated.copies_updated;
    }
    trace.done(round_trips, all.modified);
    Ok(all)
}

impl Many {
    fn round_trips(&self) -> u64 {
        1 + u64::from(self.held.is_some()) + u64::from(self.has.is_some())
    }

    async fn update(&self, core: &Core, trace: &Trace) -> Result<Outcome> {
        let (mut sent, mut attempt) = (0, 0);
        loop {
            sent += self.round_trips();
            let outcome = self.update_once(core, trace, &mut sent).await;
            trace.done(sent, outcome.as_ref().map_or(0, |updated| updated.modified));
            let error = match outcome {
                Err(error) if self.keys.iter().any(|key| key.is_taken(&error)) => error,
                outcome => return outcome,
            };
            // Mostly the document that came in between fits, and is changed by the next attempt.
            let session = core.session();
            if session.is_some() || attempt > 0 {
                sent += 1;
                trace.done(sent, 0);
                // The document may be one that the range of a type holds back.
                if session.is_none() && self.held_uncounted.is_some() {
                    let refused = count(core, self.held_uncounted.clone(), None).await?;
                    if refused > 0 {
                        return Ok(Outcome {
                            refused,
                            ..Outcome::default()
                        });
                    }
                }
                let unfit = self.unfit(&core.within(None), &error).await?;
                if unfit.is_some() || attempt == upsert::REPEATS {
                    return Err(naming(error, unfit));
                }
            }
            // The refusal has ended the transaction: all of it is run again.
            if let Some(session) = session {
                session.raced();
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// The id of the document because of which an upsert was refused, if it does not match the rest of the condition.
    async fn unfit(&self, core: &Core, error: &Error) -> Result<Option<Bson>> {
        let key = self.keys.iter().find(|key| key.is_taken(error));
        let Some(which) = key.and_then(|key| key.others(&self.condition)) else {
            return Ok(None);
        };
        let found = core.raw().find_one(which).projection(doc! { "_id": 1 });
        let found = found
            .selection_criteria(PRIMARY)
            .await
            .map_err(|error| core.error(error))?;
        Ok(found.and_then(|found| Bson::try_from(found.get("_id").ok()??).ok()))
    }

    async fn update_once(&self, core: &Core, trace: &Trace, sent: &mut u64) -> Result<Outcome> {
        if let Some(filter) = &self.to_fill {
            fill(core, &self.built, filter.clone(), trace).await?;
        }
        let mut refused = count(core, self.held.clone(), self.collation.as_ref()).await?;
        // Which document it is that becomes too large, the server does not say.
        let too_large = |error| growth::told(error, &self.built.update);
        let idle = self
            .built
            .idle_among(self.condition.clone())
            .filter(|_| !self.upsert);
        if let Some(idle) = idle {
            let (odm, session) = (core.odm(), core.session());
            let updated = crate::bulk::update_beside(
                odm,
                session,
                core.meta(),
                idle,
                (&self.guarded, &self.built),
                self.collation.as_ref(),
            );
            let (matched, modified) = updated.await.map_err(too_large)?;
            return Ok(Outcome {
                matched,
                modified,
                refused,
                ..Outcome::default()
            });
        }
        let had = count(core, self.has.clone(), self.collation.as_ref()).await?;
        let update = self.built.modifications();
        let filter = self.guarded.clone();
        let mut action = match self.keys.is_empty() {
            true => core.raw().update_many(filter, update),
            false => core.raw().update_one(filter, update),
        };
        let refused_insert =
            refused_insert(core.meta(), &self.built, self.upsert, &Bson::Null, &self.guarded);
        if self.upsert && refused + had == 0 && refused_insert.is_none() {
            action = action.upsert(true);
        }
        if let Some(collation) = &self.collation {
            action = action.collation(collation.clone());
        }
        if !self.built.array_filters.is_empty() {
            action = action.array_filters(self.built.array_filters.clone());
        }
        let result = act!(core.session(), action);
        let result = result.map_err(|error| too_large(core.error(error)))?;
        if result.matched_count == 0 && result.upserted_id.is_none() && self.held_uncounted.is_some() {
            *sent += 1;
            refused += count(core, self.held_uncounted.clone(), self.collation.as_ref()).await?;
        }
        if let Some(error) = refused_insert
            && result.matched_count + refused + had == 0
        {
            return Err(error);
        }
        Ok(Outcome {
            matched: result.matched_count + had,
            modified: result.modified_count,
            upserted: result.upserted_id,
            refused,
            ..Outcome::default()
        })
    }
}

/// Stores the defaults that a change begins with, in the documents that match this condition and that nothing else keeps from
/// being changed. A reader sees the same values before and after.
async fn fill(core: &Core, built: &Built, filter: mongodb::bson::Document, trace: &Trace) -> Result<()> {
    let of_filled = |guard: &&Guard| built.defaults.fills.iter().any(|fill| fill.name == guard.name());
    let guards = built.guards.iter().filter(|guard| !of_filled(guard));
    let mut all = vec![Bson::Document(filter)];
    all.extend(guards.map(|guard| Bson::Document(guard.condition())));
    for fill in &built.defaults.fills {
        let filling = fill.filling();
        let one = all.iter().cloned().chain([Bson::Document(filling.condition)]);
        let filter = doc! { "$and": one.collect::<Vec<_>>() };
        let mut action = core.raw().update_many(filter, filling.update);
        if !filling.array_filters.is_empty() {
            action = action.array_filters(filling.array_filters);
        }
        act!(core.session(), action).map_err(|error| core.error(error))?;
        trace.more(1);
    }
    Ok(())
}

/// How many documents a bound holds back.
async fn count(
    core: &Core,
    held: Option<mongodb::bson::Document>,
    collation: Option<&Collation>,
) -> Result<u64> {
    let Some(held) = held else { return Ok(0) };
    let mut count = core.raw().count_documents(held);
    if let Some(collation) = collation {
        count = count.collation(collation.clone());
    }
    act!(core.session(), count).map_err(|error| core.error(error))
}

/// The refusal of an upsert, with the document that it is for.
fn naming(mut error: Error, unfit: Option<Bson>) -> Error {
    if let Error::DuplicateKey { existing, .. } = &mut error {
        *existing = unfit.map(Box::new);
    }
    error
}
