//! Updates of one document and of many, with what holds them back.

use crate::collection::act;
use crate::relation::derived::OWN;
use crate::relation::{self, Amend, Done, Duties, Parts, Token, What, Write};
use crate::session::Shared;
use crate::trace::Trace;
use crate::update::{Built, Change, Changes, Guard, growth};
use crate::write::{PRIMARY, missed, peek, target_filter, version_field};
use crate::{Collection, Document, Error, Filter, Insertable, Result, check, decode};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use std::future::IntoFuture;

/// What an update did.
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
    /// How many documents fitted the condition.
    pub matched: u64,
    /// How many of them have other values now. Where the write leaves a note in each document of what is still to be written
    /// elsewhere (a copy that follows it), or of the write itself (in a two-way reference), those that had the
    /// same values before are counted too.
    pub modified: u64,
    /// The id of the document that an upsert inserted.
    pub upserted: Option<Bson>,
    /// How many documents fitted the condition, but were left as they are because a bound held the change back (a full
    /// array), or since a field is `null` to which something was to be added: counted just before the update, of which
    /// only the bound itself is atomic. 0 where the condition has `near`, which MongoDB does not count. Those that the range of an
    /// integer type held back are among them with [`count_refused`](UpdateMany::count_refused).
    pub refused: u64,
    /// In how many other documents copies were written, and fields that are derived from these documents.
    pub copies_updated: u64,
}

/// A change of one document. [`Change`] has the methods that say what changes; carried out by `.await`, which gives
/// [`Updated`]. Without any change nothing is sent.
///
/// The documents that a change makes it refer to are looked for before, and once more after: if one has been deleted
/// meanwhile, the references get their former values again, while other changes stay. What the document refers to already
/// may be gone. A change of a two-way reference writes
/// the other side too, in one transaction where the deployment has them: `set` of a single one takes it off the document
/// that had it before. An array of them is a set, so that what is pushed twice is there once.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`], [`Error::ArrayFull`], [`Error::IsNull`], [`Error::Invalid`],
/// [`Error::DuplicateKey`], [`Error::TooLarge`]; [`Error::Query`] where two changes of one field can't be one update.
/// [`Error::MissingReference`] where a document that it comes to refer to does not exist; from the other side of a
/// two-way reference [`Error::ArrayFull`], and [`Error::Query`] where a document there must keep what it refers to.
/// [`Error::Unsupported`] for an operator of MongoDB's own on a two-way reference where the deployment has no
/// transactions and its outcome can't be told before.
///
/// # Cost
/// One round trip; one more to find out why, where it was refused: where the document would pass 16 MiB, one that reads the
/// whole of it to name its largest fields (none within a transaction). A change that brings references: one before for what
/// they were, and one before and one after for each collection that they name. A change of two-way references: one before
/// for what they were, one after for each collection on the other side, one for the commit; one more where single references
/// are taken over, to see from whom, and one to take them off there; and one after the change where its outcome can't be told
/// before.
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
pub struct Update<'c, T: Document> {
    collection: &'c Collection<T>,
    id: Result<Bson>,
    seen: Option<i64>,
    changes: Changes<T>,
    upsert: bool,
}

impl<T: Document> Change<T> for Update<'_, T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.changes
    }
}

/// How often a change that a bound held back is tried again when the bound no longer does so a moment later.
const ATTEMPTS: usize = 5;

impl<'c, T: Document> Update<'c, T> {
    pub(crate) fn new(collection: &'c Collection<T>, id: Result<Bson>, seen: Option<i64>) -> Self {
        Update {
            collection,
            id,
            seen,
            changes: Changes::new(),
            upsert: false,
        }
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
    pub fn returning(self) -> Returning<'c, T> {
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
    pub fn returning_before(self) -> Returning<'c, T> {
        Returning {
            update: self,
            which: ReturnDocument::Before,
        }
    }

    fn prepare(self) -> Result<Prepared<'c, T>> {
        let mut built = self.changes.build(self.upsert, crate::now())?;
        let id = self.id?;
        if built.update.is_empty() {
            // An upsert without a change makes sure that the document is there; the server takes no empty update.
            built.update = doc! { "$setOnInsert": { "_id": &id } };
        }
        relation::prepare(self.collection.odm(), T::META, &mut built)?;
        if self.upsert {
            built.fills_at_once(T::META.collection, "an upsert")?;
        }
        let mut filter = target_filter::<T>(&id, self.seen);
        guarded(&mut filter, &built.guards);
        Ok(Prepared {
            collection: self.collection,
            id,
            seen: self.seen,
            filter,
            built,
            upsert: self.upsert,
            token: None,
        })
    }
}

struct Prepared<'c, T> {
    collection: &'c Collection<T>,
    id: Bson,
    seen: Option<i64>,
    filter: mongodb::bson::Document,
    built: Built,
    upsert: bool,
    /// The debt that it leaves.
    token: Option<Token>,
}

/// What came of looking for the reason of an update that changed nothing.
enum Verdict {
    /// The change can't be made.
    Refused(Error),
    /// There is nothing to change: the array whose items were to change, or to go, is missing.
    Nothing,
    /// Nothing holds it back any more.
    Again,
}

impl<T: Document> Prepared<'_, T> {
    async fn verdict(&self, collection: &Collection<T>) -> Result<Verdict> {
        let names = self
            .built
            .guards
            .iter()
            .map(Guard::name)
            .chain(version_field::<T>());
        let stored = peek(collection, &self.id, names).await?;
        if stored.is_none()
            && let Some(error) = self.refused_insert()
        {
            return Ok(Verdict::Refused(error));
        }
        if let Some(error) = missed::<T>(&self.id, self.seen, stored.as_ref()) {
            return Ok(Verdict::Refused(error));
        }
        for guard in &self.built.guards {
            let value = stored.as_ref().and_then(|stored| at(stored, guard.name()));
            if let Some(error) = guard.refusal(T::META.collection, &self.id, value) {
                return Ok(Verdict::Refused(error));
            }
            if guard.has_nothing_to_do(value) {
                return Ok(Verdict::Nothing);
            }
        }
        for guard in &self.built.guards {
            let (Some(items), Some(error)) = (guard.offenders(), guard.offence(T::META.collection, &self.id))
            else {
                continue;
            };
            let filter = doc! { "_id": &self.id, guard.name(): { "$elemMatch": items } };
            let mut action = collection.raw().find_one(filter).projection(doc! { "_id": 1 });
            if collection.session().is_none() {
                action = action.selection_criteria(PRIMARY);
            }
            if act!(collection.session(), action)
                .map_err(Collection::<T>::error)?
                .is_some()
            {
                return Ok(Verdict::Refused(error));
            }
        }
        Ok(Verdict::Again)
    }

    /// Why an upsert inserts nothing where there is no document, if it does not.
    fn refused_insert(&self) -> Option<Error> {
        refused_insert::<T>(&self.built, self.upsert, &self.id, &doc! {})
    }

    /// After the last attempt: what held it back came and went all the time.
    fn contended(&self) -> Error {
        Error::Query {
            collection: T::META.collection,
            message: format!(
                "the document with _id {} changed under {ATTEMPTS} attempts to update it: try again",
                self.id
            ),
        }
    }

    /// Whether an error may come from an upsert that tried to insert a document which is there already, since it lost a
    /// race or a guard held it back. The server may find any fault with such an insert before it finds the twin. Within
    /// a transaction the error has ended it, so nothing more can be found out.
    fn may_exist(&self, collection: &Collection<T>, error: &Error) -> bool {
        let guarded = !self.built.guards.is_empty() || self.seen.is_some() || self.built.marked.is_some();
        self.upsert && collection.session().is_none() && (is_twin(error) || guarded && is_refused(error))
    }

    /// What the server leaves unsaid where the document would pass 16 MiB: its size, its largest fields, and what the change
    /// brings.
    ///
    /// Within a transaction the error has ended it, and what is stored outside need not be the same document.
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
        if self.collection.session().is_some() {
            return error;
        }
        trace.more(1);
        let stored = self
            .collection
            .raw()
            .find_one(doc! { "_id": { "$eq": &self.id } })
            .selection_criteria(PRIMARY);
        // Where it can't be read, or has been deleted meanwhile, the refusal is what is to be told.
        if let Ok(Some(stored)) = stored.await {
            let all = growth::grown(&stored, &self.built.update);
            *size = size.or((all > crate::size::MAX_DOCUMENT_SIZE).then_some(all));
            *largest = check::largest(&stored);
        }
        error
    }

    /// What is behind such an error.
    async fn behind(&self, collection: &Collection<T>, error: Error, attempt: u64) -> Result<Verdict> {
        match self.verdict(collection).await? {
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

/// Whether a document with this id is there already.
fn is_twin(error: &Error) -> bool {
    matches!(error, Error::DuplicateKey { fields, .. } if fields.len() == 1 && fields[0] == "_id")
}

/// Why an upsert with these changes inserts nothing, if it does not: what it adds to a number that is not there passes
/// the number's bound.
fn refused_insert<T: Document>(
    built: &Built,
    upsert: bool,
    id: &Bson,
    condition: &mongodb::bson::Document,
) -> Option<Error> {
    let mut guards = built.guards.iter().filter(|_| upsert);
    guards.find_map(|guard| guard.refused_insert(T::META.collection, id, condition))
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

impl<T: Document> Prepared<'_, T> {
    /// Puts the copies in that it writes.
    async fn amend(&mut self, trace: &Trace) -> Result<()> {
        let amend = Amend {
            odm: self.collection.odm(),
            session: self.collection.session(),
            trace,
            beside: &[],
        };
        amend
            .update(
                T::META,
                Some(&self.id),
                &mut self.built,
                self.upsert,
                &mut self.token,
            )
            .await
    }

    /// Carries out one way of making the change, with what its references ask for.
    async fn carry_out<R, F>(&self, trace: &Trace, nothing: impl Fn() -> R, make: F) -> Result<R>
    where
        R: Done + Send + Sync,
        F: for<'a> Fn(&'a Self, Collection<T>, &'a Trace) -> BoxFuture<'a, Result<R>> + Send + Sync,
    {
        let collection = self.collection;
        let what = What::Update {
            filter: &self.filter,
            built: &self.built,
            many: false,
            upsert: self.upsert,
        };
        let writes = [Write { meta: T::META, what }].into_iter();
        let Some(duties) = Duties::of(collection.odm(), writes, self.token)? else {
            return make(self, collection.clone(), trace).await;
        };
        let again = collection.session().is_none() && duties.is_one().await?;
        for attempt in 0..ATTEMPTS as u64 {
            let within = |session: Option<Shared>| make(self, collection.within(session), trace);
            match duties.carry_out(collection.session(), trace, within).await {
                // What ended the transaction is found out after it.
                Err(error) if again && self.may_exist(collection, &error) => {
                    match self.behind(collection, error, attempt).await? {
                        Verdict::Refused(error) => return Err(error),
                        Verdict::Nothing => return Ok(nothing()),
                        Verdict::Again => {}
                    }
                }
                made => return made,
            }
        }
        Err(self.contended())
    }

    async fn update(&self, collection: &Collection<T>, trace: &Trace) -> Result<Updated> {
        self.fill(collection, trace).await?;
        for attempt in 0..ATTEMPTS as u64 {
            let update = self.built.modifications();
            let mut action = collection
                .raw()
                .update_one(self.built.where_marked(self.filter.clone()), update);
            if self.upsert {
                action = action.upsert(self.refused_insert().is_none());
            }
            if !self.built.array_filters.is_empty() {
                action = action.array_filters(self.built.array_filters.clone());
            }
            let result = act!(collection.session(), action).map_err(Collection::<T>::error);
            match result {
                Ok(ref result) if result.matched_count > 0 || result.upserted_id.is_some() => {
                    trace.done(attempt * 2 + 1, result.modified_count);
                    return Ok(Updated {
                        matched: result.matched_count,
                        modified: result.modified_count,
                        upserted: result.upserted_id.clone(),
                        refused: 0,
                        copies_updated: 0,
                    });
                }
                Err(error) if !self.may_exist(collection, &error) => {
                    trace.done(attempt * 2 + 1, 0);
                    return Err(self.explained(error, trace).await);
                }
                _ => {}
            }
            trace.done(attempt * 2 + 2, 0);
            let verdict = match result {
                Err(error) => self.behind(collection, error, attempt).await?,
                Ok(_) => self.verdict(collection).await?,
            };
            match verdict {
                Verdict::Refused(error) => return Err(self.explained(error, trace).await),
                Verdict::Nothing => return Ok(found_as_it_was()),
                Verdict::Again => self.mark_again(trace).await?,
            }
        }
        Err(self.contended())
    }

    /// Fills the defaults that the change begins with and can't fill itself.
    async fn fill(&self, collection: &Collection<T>, trace: &Trace) -> Result<()> {
        match self.built.fills_first() {
            true => {
                fill(
                    collection,
                    &self.built,
                    target_filter::<T>(&self.id, self.seen),
                    trace,
                )
                .await
            }
            false => Ok(()),
        }
    }

    /// Marks the document where it has to be marked before it is changed, and came behind that.
    async fn mark_again(&self, trace: &Trace) -> Result<()> {
        let (Some(_), Some(token)) = (&self.built.marked, self.token) else {
            return Ok(());
        };
        let amend = Amend {
            odm: self.collection.odm(),
            session: self.collection.session(),
            trace,
            beside: &[],
        };
        amend.mark_former(T::META, &self.id, token).await
    }

    async fn returning(
        &self,
        collection: &Collection<T>,
        which: &ReturnDocument,
        trace: &Trace,
    ) -> Result<Found<T>> {
        let inserts = self.upsert && self.refused_insert().is_none();
        // The server's answer with the document as it is afterwards does not say whether it was inserted. Where something
        // follows from that, the insert is a command of its own.
        let is_before = matches!(which, ReturnDocument::Before);
        let apart = inserts && !is_before && collection.odm().graph().is_related(T::META);
        let mut sent = 0;
        self.fill(collection, trace).await?;
        for attempt in 0..ATTEMPTS as u64 {
            sent += 1;
            let filter = self.built.where_marked(self.filter.clone());
            let found = self.find_and_update(collection, which, filter, inserts && !apart);
            let mut result = found.await;
            let mut inserted = inserts && is_before;
            if apart && matches!(result, Ok(None)) {
                sent += 1;
                // Who is there already is not changed: it is a twin then.
                let mut filter = self.filter.clone();
                filter.insert(OWN, doc! { "$type": "minKey" });
                result = self.find_and_update(collection, which, filter, true).await;
                inserted = true;
            }
            match result {
                Ok(Some(document)) => {
                    trace.done(sent, 1);
                    return Ok(match inserted && !is_before {
                        true => Found::Inserted(Some(document), self.id.clone()),
                        false => Found::Stored(document),
                    });
                }
                // Nothing was there before, and now it is.
                Ok(None) if inserted => {
                    trace.done(sent, 1);
                    return Ok(Found::Inserted(None, self.id.clone()));
                }
                Err(error) if !self.may_exist(collection, &error) => {
                    trace.done(sent, 0);
                    return Err(self.explained(error, trace).await);
                }
                _ => {}
            }
            sent += 1;
            trace.done(sent, 0);
            let verdict = match result {
                Err(error) => self.behind(collection, error, attempt).await?,
                Ok(_) => self.verdict(collection).await?,
            };
            match verdict {
                Verdict::Refused(error) => return Err(self.explained(error, trace).await),
                Verdict::Nothing => {
                    let mut find = Find::by_id(collection, &self.id);
                    if collection.session().is_none() {
                        find.options.selection_criteria = Some(PRIMARY);
                    }
                    return find.one().await.map(Found::Document);
                }
                Verdict::Again => self.mark_again(trace).await?,
            }
        }
        Err(self.contended())
    }

    async fn find_and_update(
        &self,
        collection: &Collection<T>,
        which: &ReturnDocument,
        filter: mongodb::bson::Document,
        upsert: bool,
    ) -> Result<Option<RawDocumentBuf>> {
        let update = self.built.modifications();
        let mut action = collection
            .raw()
            .find_one_and_update(filter, update)
            .return_document(which.clone());
        if upsert {
            action = action.upsert(true);
        }
        if !self.built.array_filters.is_empty() {
            action = action.array_filters(self.built.array_filters.clone());
        }
        act!(collection.session(), action).map_err(Collection::<T>::error)
    }
}

fn found_as_it_was() -> Updated {
    Updated {
        matched: 1,
        ..Updated::default()
    }
}

/// A document as it was, or as it is.
enum Found<T> {
    /// As it is stored. Whether it fits its struct is seen when all is written: the update is made then, and with it what the
    /// update asks of other documents.
    Stored(RawDocumentBuf),
    /// One that was inserted, so far as it is to be given, and its id.
    Inserted(Option<RawDocumentBuf>, Bson),
    Document(Option<T>),
}

impl<T> Done for Found<T> {
    fn upserted(&self) -> Option<&Bson> {
        match self {
            Found::Inserted(_, id) => Some(id),
            Found::Stored(_) | Found::Document(_) => None,
        }
    }
}

impl Done for Updated {
    fn upserted(&self) -> Option<&Bson> {
        self.upserted.as_ref()
    }

    fn copies(&mut self, documents: u64) {
        self.copies_updated += documents;
    }
}

/// Carries out changes that are built already, of a document of which a version was seen.
pub(crate) async fn apply<T: Document>(
    collection: &Collection<T>,
    id: Bson,
    seen: i64,
    mut built: Built,
) -> Result<Updated> {
    relation::prepare(collection.odm(), T::META, &mut built)?;
    let mut filter = target_filter::<T>(&id, Some(seen));
    guarded(&mut filter, &built.guards);
    let mut prepared = Prepared {
        collection,
        id,
        seen: Some(seen),
        filter,
        built,
        upsert: false,
        token: None,
    };
    let trace = collection.trace("update");
    trace
        .run(async {
            prepared.amend(&trace).await?;
            prepared
                .carry_out(&trace, found_as_it_was, |prepared, collection, trace| {
                    async move { prepared.update(&collection, trace).await }.boxed()
                })
                .await
        })
        .await
}

impl<'c, T: Document> IntoFuture for Update<'c, T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'c, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            if self.changes.is_empty() && !self.upsert {
                return Ok(Updated::default());
            }
            let mut prepared = self.prepare()?;
            let trace = prepared.collection.trace("update");
            trace.values("filter", &prepared.filter);
            trace.values("update", &prepared.built.update);
            trace
                .run(async {
                    prepared.amend(&trace).await?;
                    prepared
                        .carry_out(&trace, found_as_it_was, |prepared, collection, trace| {
                            async move { prepared.update(&collection, trace).await }.boxed()
                        })
                        .await
                })
                .await
        }
        .boxed()
    }
}

/// An update that gives the document. Carried out by `.await`, which gives `None` only for
/// [`returning_before`](Update::returning_before) of an upsert that inserted it.
///
/// # Errors
/// Those of [`Update`], and [`Error::Decode`] where the stored document does not fit its struct: the update is made then.
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
pub struct Returning<'c, T: Document> {
    update: Update<'c, T>,
    which: ReturnDocument,
}

impl<T: Document> Change<T> for Returning<'_, T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.update.changes
    }
}

impl<'c, T: Document> IntoFuture for Returning<'c, T> {
    /// The document; `None` only for `returning_before` of an upsert that inserted it.
    type Output = Result<Option<T>>;
    type IntoFuture = BoxFuture<'c, Result<Option<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let which = self.which;
            if self.update.changes.is_empty() && !self.update.upsert {
                let id = self.update.id?;
                let find = Find::by_id(self.update.collection, &id);
                let found = find.one().await?;
                let gone = || Error::NotFound {
                    collection: T::META.collection,
                    id: Box::new(id),
                };
                return found.ok_or_else(gone).map(Some);
            }
            let mut prepared = self.update.prepare()?;
            let trace = prepared.collection.trace("update_returning");
            trace.values("filter", &prepared.filter);
            trace.values("update", &prepared.built.update);
            let made = trace
                .run(async {
                    prepared.amend(&trace).await?;
                    prepared
                        .carry_out(
                            &trace,
                            || Found::Document(None),
                            |prepared, collection, trace| {
                                let which = which.clone();
                                async move { prepared.returning(&collection, &which, trace).await }.boxed()
                            },
                        )
                        .await
                })
                .await?;
            match made {
                Found::Stored(document) | Found::Inserted(Some(document), _) => {
                    decode::decode(T::META.collection, &document).map(Some)
                }
                Found::Inserted(None, _) => Ok(None),
                Found::Document(document) => Ok(document),
            }
        }
        .boxed()
    }
}

use crate::Find;

impl<'c, T: Document> Find<'c, T> {
    fn by_id(collection: &'c Collection<T>, id: &Bson) -> Find<'c, T> {
        Find::new(collection, Filter::raw(doc! { "_id": { "$eq": id } }))
    }
}

/// A change of every document that fits a condition. [`Change`] has the methods that say what changes; carried out by
/// `.await`, which gives [`Updated`]. Without any change nothing is sent.
///
/// References are kept true as by [`Update`]. Of the documents that fit, the references of the first thousand get their former
/// values again where a target was deleted meanwhile; beyond them, what then refers to nothing is left for
/// [`audit`](crate::Odm::audit).
///
/// Where it is a transaction (copies and two-way references that are kept true in it), that is one for up to 1,000
/// documents; more are changed in parts of 1,000, in the order of their ids, each a transaction of its own. An error that
/// one of them meets leaves the parts before it as they are, as MongoDB's own `updateMany` does. Within
/// [`Odm::transaction`](crate::Odm::transaction) it is all or nothing.
///
/// # Errors
/// [`Error::Invalid`], [`Error::DuplicateKey`]; [`Error::TooLarge`] for the first document that would pass 16 MiB, with what
/// the change brings, since the server does not say which document it is; [`Error::Query`] where two changes of one field
/// can't be one update. For references, those of [`Update`].
///
/// # Cost
/// One round trip, and one more before it where a change can be refused by a declared bound, by a `null` or by a field that is
/// stored under a former name (a serde `alias`), or with [`count_refused`](UpdateMany::count_refused). For references as
/// [`Update`], however many documents there are up to 1,000; for more, each 1,000 cost that, and one to find them.
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
pub struct UpdateMany<'c, T: Document> {
    collection: &'c Collection<T>,
    filter: Filter<T>,
    changes: Changes<T>,
    upsert: bool,
    counts: bool,
}

impl<T: Document> Change<T> for UpdateMany<'_, T> {
    fn changes(&mut self) -> &mut Changes<T> {
        &mut self.changes
    }
}

impl<'c, T: Document> UpdateMany<'c, T> {
    pub(crate) fn new(collection: &'c Collection<T>, filter: Filter<T>) -> Self {
        UpdateMany {
            collection,
            filter,
            changes: Changes::new(),
            upsert: false,
            counts: false,
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

    /// Inserts a document with the values that the condition demands and these changes, if none fits.
    ///
    /// The references among those values are checked, and their copies taken, as in an insertion; and also where a document
    /// fits, since that is not known before.
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

impl<'c, T: Document> IntoFuture for UpdateMany<'c, T> {
    type Output = Result<Updated>;
    type IntoFuture = BoxFuture<'c, Result<Updated>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            if self.changes.is_empty() && !self.upsert {
                return Ok(Updated::default());
            }
            let collection = self.collection;
            let mut built = self.changes.build(self.upsert, crate::now())?;
            let filter = self.filter.into_document()?;
            built.begin_with(&filter);
            if built.update.is_empty() {
                // An upsert without a change; the server takes no empty update, and no document has this.
                built.update = doc! { "$unset": { "_odm.none": "" } };
            }
            relation::prepare(collection.odm(), T::META, &mut built)?;
            if self.upsert {
                relation::prepare_upsert(collection.odm(), T::META, &filter, &mut built)?;
                built.fills_at_once(T::META.collection, "an upsert")?;
            }
            // An upsert must not insert beside a document that the range of a type holds back. By a whole unique key it can't.
            let finds_twin = collection.session().is_none() && holds_unique_key(T::META, &filter);
            let counts = self.counts || self.upsert && !finds_twin;
            let trace = collection.trace("update_where");
            trace.values("filter", &filter);
            trace.values("update", &built.update);
            trace
                .run(async {
                    for _ in 0..ATTEMPTS {
                        let whole = Many::of(filter.clone(), built.clone(), self.upsert, counts);
                        let held = whole.held_uncounted.clone();
                        match whole.carry_out(collection, &trace).await {
                            Ok(Part::Done(updated)) => return Ok(updated),
                            Ok(Part::TooMany) => {}
                            // The document with this key may be one that the range of a type held back. The server may find
                            // any fault with the new one before it finds that one.
                            Err(error) if held.is_some() && is_refused(&error) => {
                                trace.more(1);
                                return match count(collection, held).await? {
                                    0 => Err(error),
                                    refused => Ok(Updated {
                                        refused,
                                        ..Updated::default()
                                    }),
                                };
                            }
                            Err(error) => return Err(error),
                        }
                        let updated = in_parts(collection, &trace, &filter, &built, counts).await?;
                        // They may have gone before the first part, and then there is something to insert.
                        if !self.upsert || updated.matched + updated.refused > 0 {
                            return Ok(updated);
                        }
                    }
                    Err(Error::Query {
                        collection: T::META.collection,
                        message: format!(
                            "the documents that fit came and went under {ATTEMPTS} attempts to update them: try again"
                        ),
                    })
                })
                .await
        }
        .boxed()
    }
}

/// What came of an update that is carried out at once, if it does not change too many documents for that.
enum Part {
    Done(Updated),
    TooMany,
}

impl From<Updated> for Part {
    fn from(updated: Updated) -> Part {
        Part::Done(updated)
    }
}

impl Done for Part {
    fn upserted(&self) -> Option<&Bson> {
        match self {
            Part::Done(updated) => updated.upserted(),
            Part::TooMany => None,
        }
    }

    fn copies(&mut self, documents: u64) {
        if let Part::Done(updated) = self {
            updated.copies(documents);
        }
    }

    fn too_many() -> Option<Part> {
        Some(Part::TooMany)
    }
}

struct Many {
    /// The condition, with what must hold of the documents.
    guarded: mongodb::bson::Document,
    /// The condition of those that fit and that a bound holds back, where they are counted.
    held: Option<mongodb::bson::Document>,
    /// The same of the range of a type, where it is not counted.
    held_uncounted: Option<mongodb::bson::Document>,
    /// The condition without what must hold of the documents, where defaults are filled before.
    to_fill: Option<mongodb::bson::Document>,
    built: Built,
    upsert: bool,
}

impl Many {
    fn of(filter: mongodb::bson::Document, built: Built, upsert: bool, counts: bool) -> Many {
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
            let counts = !bounds.is_empty() && !crate::filter::has_near(&filter);
            counts.then(|| doc! { "$and": [filter.clone(), { "$nor": [{ "$and": bounds }] }] })
        };
        Many {
            guarded,
            held: held(&|guard| counts || !guard.is_of_type()),
            held_uncounted: held(&|guard| !counts && upsert && guard.is_of_type()),
            to_fill: built.fills_first().then(|| filter.clone()),
            built,
            upsert,
        }
    }

    /// Carries it out at once, with what its references ask for.
    async fn carry_out<T: Document, R>(mut self, collection: &Collection<T>, trace: &Trace) -> Result<R>
    where
        R: Done + From<Updated> + Send + Sync,
    {
        let amend = Amend {
            odm: collection.odm(),
            session: collection.session(),
            trace,
            beside: &[],
        };
        let mut token = None;
        amend
            .update(T::META, None, &mut self.built, self.upsert, &mut token)
            .await?;
        let many = &self;
        let what = What::Update {
            filter: &many.guarded,
            built: &many.built,
            many: true,
            upsert: many.upsert,
        };
        let update = |session: Option<Shared>| {
            let collection = collection.within(session);
            async move { many.update(&collection, trace).await.map(R::from) }.boxed()
        };
        let writes = [Write { meta: T::META, what }].into_iter();
        match Duties::of(collection.odm(), writes, token)? {
            None => update(collection.session().cloned()).await,
            Some(duties) => duties.carry_out(collection.session(), trace, update).await,
        }
    }
}

/// Carries out an update a part of the documents at a time. Each part takes the copies of its own time, and goes by a token of
/// its own: whoever has read the marks of one part may remove them while the next one is on its way.
async fn in_parts<T: Document>(
    collection: &Collection<T>,
    trace: &Trace,
    filter: &mongodb::bson::Document,
    built: &Built,
    counts: bool,
) -> Result<Updated> {
    let mut parts = Parts::of(collection.odm(), trace, T::META, filter.clone()).await?;
    let mut all = Updated::default();
    let mut round_trips = 0;
    while let Some(part) = parts.next().await? {
        let part = Many::of(part, built.clone(), false, counts);
        round_trips += part.round_trips();
        let updated: Updated = part.carry_out(collection, trace).await?;
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
        1 + u64::from(self.held.is_some())
    }

    async fn update<T: Document>(&self, collection: &Collection<T>, trace: &Trace) -> Result<Updated> {
        if let Some(filter) = &self.to_fill {
            fill(collection, &self.built, filter.clone(), trace).await?;
        }
        let mut refused = count(collection, self.held.clone()).await?;
        let update = self.built.modifications();
        let mut action = collection
            .raw()
            .update_many(self.built.where_marked(self.guarded.clone()), update);
        let refused_insert = refused_insert::<T>(&self.built, self.upsert, &Bson::Null, &self.guarded);
        if self.upsert && refused == 0 && refused_insert.is_none() {
            action = action.upsert(true);
        }
        if !self.built.array_filters.is_empty() {
            action = action.array_filters(self.built.array_filters.clone());
        }
        // Which document it is that becomes too large, the server does not say.
        let too_large = |error| growth::told(Collection::<T>::error(error), &self.built.update);
        let result = act!(collection.session(), action).map_err(too_large)?;
        trace.done(self.round_trips(), result.modified_count);
        if result.matched_count == 0 && result.upserted_id.is_none() && self.held_uncounted.is_some() {
            trace.more(1);
            refused += count(collection, self.held_uncounted.clone()).await?;
        }
        if let Some(error) = refused_insert
            && result.matched_count + refused == 0
        {
            return Err(error);
        }
        Ok(Updated {
            matched: result.matched_count,
            modified: result.modified_count,
            upserted: result.upserted_id,
            refused,
            copies_updated: 0,
        })
    }
}

/// Fills the defaults that a change begins with in the documents that fit this condition, and in which nothing else holds the
/// change back. What a reader sees of them stays the same.
async fn fill<T: Document>(
    collection: &Collection<T>,
    built: &Built,
    filter: mongodb::bson::Document,
    trace: &Trace,
) -> Result<()> {
    let of_filled = |guard: &&Guard| built.defaults.fills.iter().any(|fill| fill.name == guard.name());
    let guards = built.guards.iter().filter(|guard| !of_filled(guard));
    let mut all = vec![Bson::Document(filter)];
    all.extend(guards.map(|guard| Bson::Document(guard.condition())));
    for fill in &built.defaults.fills {
        let filling = fill.filling();
        let one = all.iter().cloned().chain([Bson::Document(filling.condition)]);
        let filter = doc! { "$and": one.collect::<Vec<_>>() };
        let mut action = collection.raw().update_many(filter, filling.update);
        if !filling.array_filters.is_empty() {
            action = action.array_filters(filling.array_filters);
        }
        act!(collection.session(), action).map_err(Collection::<T>::error)?;
        trace.more(1);
    }
    Ok(())
}

/// How many documents a bound holds back.
async fn count<T: Document>(
    collection: &Collection<T>,
    held: Option<mongodb::bson::Document>,
) -> Result<u64> {
    let Some(held) = held else { return Ok(0) };
    let count = collection.raw().count_documents(held);
    act!(collection.session(), count).map_err(Collection::<T>::error)
}

/// Whether the condition demands a value of each field of a unique index that holds all documents, or of `_id`: then an upsert
/// inserts nothing beside a document that has these values.
fn holds_unique_key(meta: &crate::document::DocumentMeta, filter: &mongodb::bson::Document) -> bool {
    let demands = |name: &str| relation::demanded(filter, name).is_some();
    let of_all = |index: &&crate::document::IndexMeta| {
        index.unique && !index.sparse && index.partial.is_none() && !index.keys.is_empty()
    };
    let mut indexes = meta.indexes.iter().filter(of_all);
    demands("_id") || indexes.any(|index| index.keys.iter().all(|key| demands((key.path)())))
}
