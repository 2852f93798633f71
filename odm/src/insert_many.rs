//! Many documents, inserted at once.

use crate::collection::{Core, act};
use crate::model::document::{DocumentMeta, Fresh};
use crate::relation::{self, Duties, IN_ONE, Outcome, What as Relation, Write};
use crate::session::Shared;
use crate::store::batches::Take;
use crate::store::map::Context;
use crate::store::trace::Trace;
use crate::write::{amend, encode_behind, not_encoded};
use crate::{Collection, Document, Error, Result, model::check, store::decode};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, RawDocument, RawDocumentBuf};
use serde::{Serialize, Serializer};
use std::borrow::Borrow;
use std::future::IntoFuture;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Number of documents that are worth another thread: a quarter of a millisecond of work, against some ten microseconds to wake
/// one.
const WORTH_A_THREAD: usize = 250;

/// To ask for it takes as long as to encode some fifty documents.
static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// How many documents a thread takes at a time.
const PART: usize = 50;

/// Documents as they are stored, one behind the other in one buffer: a buffer for each took longer than to encode it, where
/// another thread freed it than had made it.
#[derive(Default)]
pub(crate) struct Part {
    bytes: Vec<u8>,
    /// Where those stand that can be sent, with their positions among all that are to be inserted.
    places: Vec<(usize, Range<usize>)>,
    /// The others.
    refused: Vec<(usize, Error)>,
}

impl Part {
    /// Encodes and checks documents, the first of which is at this position.
    fn of<T: Document>(first: usize, documents: &[T]) -> Part {
        let mut part = Part::default();
        part.places.reserve(documents.len());
        for (at, document) in documents.iter().enumerate() {
            part.add(first + at, |bytes| encode_behind(document, bytes));
            if at == 0 {
                // Each is about as long as the one before.
                let more = part.bytes.len().saturating_mul(documents.len());
                part.bytes.reserve(more.min(PART * 4096));
            }
        }
        part
    }

    pub(crate) fn add(&mut self, at: usize, encode: impl FnOnce(&mut Vec<u8>) -> Result<()>) {
        let start = self.bytes.len();
        match encode(&mut self.bytes) {
            Ok(()) => self.places.push((at, start..self.bytes.len())),
            Err(error) => {
                self.bytes.truncate(start);
                self.refused.push((at, error));
            }
        }
    }

    /// Those that can be sent. The buffer goes with the last of them.
    fn into_documents(self) -> impl Iterator<Item = Stored> {
        let bytes = Arc::new(self.bytes);
        self.places.into_iter().map(move |(_, place)| Stored {
            bytes: bytes.clone(),
            place,
        })
    }
}

/// One of the documents in a buffer.
struct Stored {
    bytes: Arc<Vec<u8>>,
    place: Range<usize>,
}

impl Stored {
    fn document(&self) -> bson::error::Result<&RawDocument> {
        RawDocument::from_bytes(self.bytes.get(self.place.clone()).unwrap_or_default())
    }
}

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let document = self.document().map_err(serde::ser::Error::custom)?;
        document.serialize(serializer)
    }
}

/// Encodes the documents of a range of positions.
type Encode = dyn Fn(Range<usize>) -> Part + Send + Sync;

/// Documents that several threads encode together.
struct Work {
    encode: Box<Encode>,
    /// The number of documents.
    documents: usize,
    parts: Vec<OnceLock<Part>>,
    next: AtomicUsize,
}

impl Work {
    fn of(documents: usize, encode: Box<Encode>) -> Work {
        Work {
            encode,
            documents,
            parts: (0..documents.div_ceil(PART)).map(|_| OnceLock::new()).collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// Encodes parts that no thread has begun yet. Each thread takes the next part when it has finished one, so that none waits
    /// for a thread that gets no core.
    fn carry_out(&self) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(encoded) = self.parts.get(at) else { return };
            let first = at * PART;
            encoded.get_or_init(|| (self.encode)(first..self.documents.min(first + PART)));
        }
    }
}

/// A thread that may help. It takes the work out, once it has begun.
type Offer = Arc<Mutex<Option<Arc<Work>>>>;

fn taken(offer: &Offer) -> Option<Arc<Work>> {
    offer.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Encodes and checks documents, on several threads if they are very many: all of them are checked before the first is sent,
/// and the server has nothing to do meanwhile. `encode` is dropped before the parts are returned.
fn encode_parts(documents: usize, encode: Box<Encode>) -> BoxFuture<'static, Vec<Part>> {
    async move {
        let threads = (documents / WORTH_A_THREAD).min(*CORES);
        let runtime = Handle::try_current().ok().filter(|_| threads > 1);
        let Some(runtime) = runtime else {
            return vec![encode(0..documents)];
        };
        let mut work = Arc::new(Work::of(documents, encode));
        let others: Vec<(Offer, JoinHandle<()>)> = (1..threads)
            .map(|_| {
                let offer: Offer = Arc::new(Mutex::new(Some(work.clone())));
                let theirs = offer.clone();
                let helps = move || {
                    if let Some(work) = taken(&theirs) {
                        work.carry_out();
                    }
                };
                (offer, runtime.spawn_blocking(helps))
            })
            .collect();
        work.carry_out();
        for (offer, other) in others {
            // One that has not begun has nothing to do any more. It is not waited for: all threads may be an application's that
            // wait for what is inserted here.
            if taken(&offer).is_none()
                && let Err(error) = other.await
                && let Ok(panic) = error.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
        loop {
            match Arc::try_unwrap(work) {
                Ok(Work { parts, .. }) => {
                    return parts.into_iter().filter_map(OnceLock::into_inner).collect();
                }
                // A thread that has ended drops it.
                Err(shared) => work = shared,
            }
            tokio::task::yield_now().await;
        }
    }
    .boxed()
}

/// Encodes documents, and gives them back.
async fn encode_all<T: Document>(documents: Vec<T>) -> (Vec<T>, Vec<Part>) {
    let documents = Arc::new(documents);
    let encoded = documents.clone();
    let encode = move |range: Range<usize>| {
        let first = range.start;
        Part::of(first, encoded.get(range).unwrap_or_default())
    };
    let parts = encode_parts(documents.len(), Box::new(encode)).await;
    // Without them they are read as they are stored.
    (Arc::into_inner(documents).unwrap_or_default(), parts)
}

/// The documents that are whole before others are asked, and how all are stored.
async fn encoded_all<T: Document>(documents: Vec<Fresh<T>>) -> (Vec<T>, Vec<Part>) {
    if documents
        .iter()
        .all(|document| matches!(document, Fresh::Whole(_)))
    {
        let mut whole = Vec::with_capacity(documents.len());
        for document in documents {
            if let Fresh::Whole(document) = document {
                whole.push(document);
            }
        }
        return encode_all(whole).await;
    }
    let (mut whole, mut part) = (Vec::new(), Part::default());
    for (at, document) in documents.into_iter().enumerate() {
        match document {
            Fresh::Whole(document) => {
                part.add(at, |bytes| encode_behind(&document, bytes));
                whole.push(document);
            }
            // Its bounds are checked when what is derived from others is there.
            Fresh::Partial(raw) => part.add(at, |bytes| {
                bytes.extend_from_slice(raw?.as_bytes());
                Ok(())
            }),
        }
    }
    (whole, vec![part])
}

/// Documents to insert. `.await` executes the insert and returns them as they are stored.
///
/// References are checked as by [`Insert`](crate::Insert); the documents may refer to each other, in any order. With two-way
/// references, and with copies that are kept in sync in a transaction, up to 1,000 documents are inserted in one transaction,
/// where the deployment has transactions: if the server refuses one document, none is inserted, also where the insert is
/// [`unordered`](InsertMany::unordered). More are inserted in parts of 1,000, each in a transaction of its own, since a
/// transaction has to end within a minute. Documents that may refer to their own type, or that link one document with two of
/// them, are always inserted in one transaction. Within [`Odm::transaction`](crate::Odm::transaction) all are inserted, or
/// none.
///
/// # Errors
/// [`Error::InsertMany`] with the position of each refused document, and why. Documents that break a bound or are too large are
/// found before anything is sent (where they hold copies, before their part of 1,000 is sent): an ordered insert then inserts
/// none. The first document that the server refuses ends an ordered insert; where a later part failed as a whole, the error has
/// the position of its first document. [`Error::MissingReference`] lists all targets that don't exist: then none is inserted,
/// or those that were are deleted again.
///
/// # Cost
/// One round trip for every 100,000 documents or 48 MB, and none for no document; for references as [`Insert`](crate::Insert),
/// however many documents there are, but for each part of 1,000 where those are transactions.
///
/// # Example
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>, new: Vec<NewPerson>) -> odm::Result<()> {
/// let stored = people.insert_many(new).await?;
/// # Ok(()) }
/// ```
#[must_use = "an insert does nothing until it is awaited"]
#[derive(Debug)]
pub struct InsertMany<T: Document> {
    collection: Collection<T>,
    documents: Vec<Fresh<T>>,
    ordered: bool,
}

impl<T: Document> InsertMany<T> {
    pub(crate) fn new(collection: &Collection<T>, documents: Vec<Fresh<T>>) -> Self {
        InsertMany {
            collection: collection.clone(),
            documents,
            ordered: true,
        }
    }

    /// Continues after a refused document, whether the server refuses it or it breaks a bound and is not sent. (For documents
    /// that hold copies of their own type, nothing is inserted if one of them breaks a bound.)
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>, new: Vec<NewPerson>) -> odm::Result<()> {
    /// let stored = people.insert_many(new).unordered().await?;
    /// # Ok(()) }
    /// ```
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }
}

impl<T: Document> IntoFuture for InsertMany<T> {
    type Output = Result<Vec<T>>;
    type IntoFuture = BoxFuture<'static, Result<Vec<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let InsertMany {
                collection,
                documents,
                ordered,
            } = self;
            let all = documents.len();
            let (whole, parts) = encoded_all(documents).await;
            let is_whole = whole.len() == all;
            let mut stored = Vec::new();
            let mut take = |document: &RawDocument| {
                stored.push(decode::decode(T::META, document)?);
                Ok(())
            };
            let core = collection.core();
            match insert_encoded(core, parts, is_whole, ordered, &mut take).await? {
                true => Ok(stored),
                false => Ok(whole),
            }
        }
        .boxed()
    }
}

/// Inserts documents. Those that are not whole are handed to `take` as they are stored, and all where the library puts something
/// into them: whether it did so is given.
pub(crate) fn insert_encoded<'a>(
    core: &'a Core,
    mut parts: Vec<Part>,
    is_whole: bool,
    ordered: bool,
    take: Take<'a>,
) -> BoxFuture<'a, Result<bool>> {
    async move {
        let meta = core.meta();
        let mut tally = Tally {
            ordered,
            ..Tally::default()
        };
        for part in &mut parts {
            tally.refused.append(&mut part.refused);
            tally.places.extend(part.places.iter().map(|(at, _)| *at));
        }
        if tally.places.is_empty() && tally.refused.is_empty() {
            return Ok(true);
        }
        if ordered && !tally.refused.is_empty() {
            return Err(tally.into_error(meta));
        }
        let trace = core.trace("insert_many");
        trace
            .run(async {
                core.odm().know_declarations(&trace).await?;
                let documents = parts.into_iter().flat_map(Part::into_documents);
                let is_read = match is_whole && relation::is_unrelated(core.odm(), meta)? {
                    true => tally.insert(core, documents).await.map(|()| false),
                    false => {
                        let raw = documents.map(|one| {
                            let document = one.document();
                            Ok(document.map_err(|source| not_encoded(meta, source))?.to_owned())
                        });
                        let raw = raw.collect::<Result<_>>()?;
                        tally.insert_related(core, &trace, raw, is_whole, take).await
                    }
                }?;
                // The driver splits what is too much for one command; it does not say into how many.
                trace.done(tally.parts, tally.inserted as u64);
                if tally.refused.is_empty() {
                    return Ok(is_read);
                }
                Err(tally.into_error(meta))
            })
            .await
    }
    .boxed()
}

/// The result for each document.
#[derive(Default)]
struct Tally {
    ordered: bool,
    /// The positions of those that are sent, among all that are to be inserted.
    places: Vec<usize>,
    /// How many have been sent, in how many parts.
    sent: usize,
    parts: u64,
    inserted: usize,
    refused: Vec<(usize, Error)>,
}

impl Tally {
    /// Inserts documents that have nothing to do with others.
    async fn insert(&mut self, core: &Core, documents: impl Iterator<Item = Stored> + Send) -> Result<()> {
        let size = self.places.len();
        if size > 0 {
            // By value: the driver copies each, and what it has copied is freed.
            let session = core.session().cloned();
            let made = insert_raw::<Stored>(core, session, size, documents, self.ordered).await;
            self.add(size, made)?;
        }
        Ok(())
    }

    /// Inserts documents with what their references and copies ask for. Gives whether `take` took them.
    async fn insert_related(
        &mut self,
        core: &Core,
        trace: &Trace,
        mut rest: Vec<RawDocumentBuf>,
        is_whole: bool,
        take: Take<'_>,
    ) -> Result<bool> {
        let most = most_at_once(core, &rest).await?;
        let derives = !rest.is_empty() && amend(core, trace).concerns(core.meta());
        let is_read = derives || !is_whole;
        while !rest.is_empty() {
            let behind = rest.split_off(most.min(rest.len()));
            let part = std::mem::replace(&mut rest, behind);
            let size = part.len();
            let mut take = |document: &RawDocument| take(document);
            let stored: Option<Take<'_>> = match is_read {
                true => Some(&mut take),
                false => None,
            };
            let made = insert_part(core, trace, part, self.ordered, stored).await;
            let ends = self.ordered
                || matches!(
                    made,
                    Err(Error::Driver(_)
                        | Error::Unavailable { .. }
                        | Error::Refused { .. }
                        | Error::CollectionType { .. })
                );
            self.add(size, made)?;
            if ends && !self.refused.is_empty() {
                break;
            }
        }
        Ok(is_read)
    }

    fn into_error(mut self, meta: &DocumentMeta) -> Error {
        self.refused.sort_by_key(|(at, _)| *at);
        Error::InsertMany {
            collection: meta.collection,
            inserted: self.inserted,
            errors: self.refused,
        }
    }

    /// Adds what became of one part.
    fn add(&mut self, size: usize, made: Result<Outcome>) -> Result<()> {
        let (inserted, errors) = match made {
            Ok(Outcome { inserted, errors, .. }) => (usize::try_from(inserted).unwrap_or(usize::MAX), errors),
            Err(Error::InsertMany { inserted, errors, .. }) => (inserted, errors),
            // What became of the parts before it has to be said.
            Err(error) if self.sent > 0 => (0, vec![(0, error)]),
            Err(error) => return Err(error),
        };
        // A position that was not sent is no position: what the server says is not trusted to index with.
        let first = self.sent;
        let places = &self.places;
        let place = |at: usize| places.get(first + at).copied().unwrap_or(first + at);
        self.inserted += inserted;
        self.refused
            .extend(errors.into_iter().map(|(at, error)| (place(at), error)));
        self.sent += size;
        self.parts += 1;
        Ok(())
    }
}

/// The number of documents that are inserted at a time: a transaction of the operation's own has at most [`IN_ONE`], unless the
/// documents may refer to each other.
async fn most_at_once(core: &Core, raw: &[RawDocumentBuf]) -> Result<usize> {
    let odm = core.odm();
    if raw.len() <= IN_ONE || core.session().is_some() || relation::belong_together(odm, core.meta(), raw) {
        return Ok(usize::MAX);
    }
    Ok(match Duties::of(odm, inserts(core.meta(), raw), None)? {
        Some(duties) if duties.is_one().await? => IN_ONE,
        _ => usize::MAX,
    })
}

fn inserts<'a>(
    meta: &'static DocumentMeta,
    raw: &'a [RawDocumentBuf],
) -> impl Iterator<Item = Write<'a>> + Clone {
    raw.iter().map(move |document| Write {
        meta,
        what: Relation::Insert(document),
    })
}

/// Inserts documents at once, with what their references ask for. `stored` takes them as they are stored.
async fn insert_part(
    core: &Core,
    trace: &Trace,
    mut raw: Vec<RawDocumentBuf>,
    ordered: bool,
    stored: Option<Take<'_>>,
) -> Result<Outcome> {
    let mut token = None;
    let (mut places, mut refused) = (None, Vec::new());
    if let Some(stored) = stored {
        amend(core, trace)
            .insert(core.meta(), &mut raw, &mut token)
            .await?;
        let (mut kept, mut sent) = (Vec::with_capacity(raw.len()), Vec::with_capacity(raw.len()));
        for (at, document) in raw.into_iter().enumerate() {
            match check::document(core.meta(), &document) {
                Ok(()) => {
                    stored(&document)?;
                    kept.push(at);
                    sent.push(document);
                }
                Err(error) => refused.push((at, error)),
            }
        }
        raw = sent;
        // The others may have copies of those that are left out, where they refer to their own kind.
        let together = || relation::refers_to_its_kind(core.odm(), core.meta());
        if !refused.is_empty() && (ordered || raw.is_empty() || together()) {
            return Ok(Outcome {
                errors: refused,
                ordered,
                ..Outcome::default()
            });
        }
        places = Some(kept);
    }
    let size = raw.len();
    let duties = Duties::of(core.odm(), inserts(core.meta(), &raw), token)?;
    let made = match duties {
        None => {
            drop(duties);
            let session = core.session().cloned();
            insert_raw::<RawDocumentBuf>(core, session, size, raw, ordered).await
        }
        Some(duties) => {
            let insert =
                |session| insert_raw::<RawDocumentBuf>(core, session, size, raw.as_slice(), ordered).boxed();
            duties.execute(core.session(), trace, &insert).await
        }
    };
    let Some(places) = places else { return made };
    // By the positions before some were left out.
    let place = |(at, error): (usize, Error)| (places.get(at).copied().unwrap_or(at), error);
    match made {
        Ok(outcome) => {
            refused.extend(outcome.errors.into_iter().map(place));
            Ok(Outcome {
                errors: refused,
                ..outcome
            })
        }
        Err(Error::InsertMany {
            collection,
            inserted,
            errors,
        }) => {
            refused.extend(errors.into_iter().map(place));
            Err(Error::InsertMany {
                collection,
                inserted,
                errors: refused,
            })
        }
        Err(error) => {
            for (at, refused) in refused {
                tracing::warn!(target: "odm", at, "skipped document {at} of the batch: {refused}");
            }
            Err(error)
        }
    }
}

/// Those that the server refuses are no error here, but in a transaction, which such a refusal ends.
async fn insert_raw<D: Serialize + Send + Sync>(
    core: &Core,
    session: Option<Shared>,
    sent: usize,
    documents: impl IntoIterator<Item = impl Borrow<D>>,
    ordered: bool,
) -> Result<Outcome> {
    let target = core.raw().clone_with_type::<D>();
    let action = target.insert_many(documents).ordered(ordered);
    let Err(error) = act!(session.as_ref(), action) else {
        return Ok(Outcome {
            inserted: sent as u64,
            ordered,
            ..Outcome::default()
        });
    };
    match Context::of(core.meta()).insert_many(error, sent, ordered) {
        Error::InsertMany { inserted, errors, .. } => {
            // A transaction of the operation's own is rolled back.
            let inserted = match (&session, core.session()) {
                (Some(_), None) => 0,
                _ => inserted,
            };
            match session {
                None => Ok(Outcome {
                    inserted: inserted as u64,
                    errors,
                    ordered,
                    ..Outcome::default()
                }),
                Some(_) => Err(Error::InsertMany {
                    collection: core.meta().collection,
                    inserted,
                    errors,
                }),
            }
        }
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::{Address, Person};
    use mongodb::bson::oid::ObjectId;

    /// One in a city whose name is so long; 50 are allowed.
    fn person(city: usize) -> Person {
        Person {
            id: ObjectId::new(),
            name: "Ada".repeat(city % 7),
            addresses: Vec::new(),
            home: Some(Address {
                street: "Main Street".to_owned(),
                city: "x".repeat(city),
            }),
            boss: None,
        }
    }

    #[tokio::test]
    async fn documents_are_encoded_in_their_order_and_refused_ones_leave_nothing() {
        for count in [0, 1, 49, 50, 499, 500, 501, 1234] {
            // Every seventh, and so the first of some parts and the last of others, is refused.
            let people: Vec<Person> = (0..count)
                .map(|n| person(if n % 7 == 3 { 51 } else { n % 51 }))
                .collect();
            let expected: Vec<(usize, RawDocumentBuf)> = people
                .iter()
                .enumerate()
                .filter(|(at, _)| at % 7 != 3)
                .map(|(at, person)| (at, bson::serialize_to_raw_document_buf(person).unwrap()))
                .collect();
            let (whole, parts) = encoded_all(people.iter().cloned().map(Fresh::Whole).collect()).await;
            assert_eq!(whole, people);
            let stored: Vec<(usize, RawDocumentBuf)> = parts
                .iter()
                .flat_map(|part| {
                    part.places
                        .iter()
                        .map(|(at, place)| (*at, &part.bytes[place.clone()]))
                })
                .map(|(at, bytes)| (at, RawDocumentBuf::from_bytes(bytes.to_vec()).unwrap()))
                .collect();
            assert_eq!(stored, expected);
            let refused: Vec<usize> = parts
                .iter()
                .flat_map(|part| part.refused.iter().map(|(at, _)| *at))
                .collect();
            assert_eq!(refused, (0..count).filter(|at| at % 7 == 3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn threads_that_wait_for_what_is_inserted_hold_up_nobody() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let (inserted, waits) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || waits.recv());
            let people = (0..1000).map(|n| Fresh::Whole(person(n % 50)));
            let (whole, parts) = encoded_all(people.collect()).await;
            let encoded: usize = parts.iter().map(|part| part.places.len()).sum();
            assert_eq!((whole.len(), encoded), (1000, 1000));
            drop(inserted);
            assert!(busy.await.unwrap().is_err());
        });
    }
}
