//! Many documents, inserted at once.

use crate::api::encoded::{encode_new_behind, is_cut};
use crate::engine::{self, Batching, WriteOperation, Writes};
use crate::model::document::{DocumentMeta, Fresh};
use crate::store::core::Core;
use crate::store::options::configured;
use crate::store::packed::{DocumentBuffer, Packed};
use crate::{Document, Error, Result, store::decode};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::RawDocumentBuf;
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

/// Encodes and checks documents, the first of which is at this position.
fn encode_part<T: Document>(first: usize, documents: &[T]) -> DocumentBuffer {
    let mut part = DocumentBuffer::default();
    part.places.reserve(documents.len());
    for (at, document) in documents.iter().enumerate() {
        part.add(first + at, |bytes| encode_new_behind(document, bytes));
        if at == 0 {
            // Each is about as long as the one before.
            let more = part.bytes.len().saturating_mul(documents.len());
            part.bytes.reserve(more.min(PART * 4096));
        }
    }
    part
}

/// Encodes the documents of a range of positions.
type Encode = dyn Fn(Range<usize>) -> DocumentBuffer + Send + Sync;

/// Documents that several threads encode together.
struct InsertWork {
    encode: Box<Encode>,
    /// The number of documents.
    documents: usize,
    parts: Vec<OnceLock<DocumentBuffer>>,
    next: AtomicUsize,
}

impl InsertWork {
    fn of(documents: usize, encode: Box<Encode>) -> InsertWork {
        InsertWork {
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
type Offer = Arc<Mutex<Option<Arc<InsertWork>>>>;

fn taken(offer: &Offer) -> Option<Arc<InsertWork>> {
    offer.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Encodes and checks documents, on several threads if they are very many: all of them are checked before the first is sent,
/// and the server has nothing to do meanwhile. `encode` is dropped before the parts are returned.
fn encode_parts(documents: usize, encode: Box<Encode>) -> BoxFuture<'static, Vec<DocumentBuffer>> {
    async move {
        let threads = (documents / WORTH_A_THREAD).min(*CORES);
        let runtime = Handle::try_current().ok().filter(|_| threads > 1);
        let Some(runtime) = runtime else {
            return vec![encode(0..documents)];
        };
        let mut work = Arc::new(InsertWork::of(documents, encode));
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
                Ok(InsertWork { parts, .. }) => {
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
async fn encode_all<T: Document>(documents: Vec<T>) -> (Vec<T>, Vec<DocumentBuffer>) {
    let documents = Arc::new(documents);
    let encoded = documents.clone();
    let encode = move |range: Range<usize>| {
        let first = range.start;
        encode_part(first, encoded.get(range).unwrap_or_default())
    };
    let parts = encode_parts(documents.len(), Box::new(encode)).await;
    // Without them they are read as they are stored.
    (Arc::into_inner(documents).unwrap_or_default(), parts)
}

/// The documents that are whole before others are asked, and how all are stored.
async fn encoded_all<T: Document>(documents: Vec<Fresh<T>>) -> (Vec<T>, Vec<DocumentBuffer>) {
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
    let (mut whole, mut part) = (Vec::new(), DocumentBuffer::default());
    for (at, document) in documents.into_iter().enumerate() {
        match document {
            Fresh::Whole(document) => {
                part.add(at, |bytes| encode_new_behind(&document, bytes));
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
/// or those that were are deleted again. [`Error::Decode`] where a stored document, with the copies that it got, can't be decoded as
/// its struct: the documents have been inserted then.
///
/// # Cost
/// One round trip for every 100,000 documents or 48 MB, and none for no document; for references as [`Insert`](crate::Insert),
/// however many documents there are, but for each part of 1,000 where those are transactions.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, new: Vec<NewPerson>) -> odm::Result<()> {
/// let stored = people.insert_many(new).await?;
/// # Ok(()) }
/// ```
#[must_use = "an insert does nothing until it is awaited"]
#[derive(Debug)]
pub struct InsertMany<T: Document> {
    core: Core,
    documents: Vec<Fresh<T>>,
    ordered: bool,
}

configured!(WriteOptions for core of [T: Document] InsertMany<T>;);

impl<T: Document> InsertMany<T> {
    pub(crate) fn new(core: Core, documents: Vec<Fresh<T>>) -> Self {
        InsertMany {
            core,
            documents,
            ordered: true,
        }
    }

    /// Continues after a refused document, whether the server refuses it or it breaks a bound and is not sent. (For documents
    /// that hold copies of their own type, nothing is inserted if one of them breaks a bound.)
    ///
    /// ```no_run
    /// # use samples::model::*;
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
        Box::into_pin(Box::new(async move {
            let InsertMany {
                core,
                documents,
                ordered,
            } = self;
            let all = documents.len();
            let (whole, parts) = encoded_all(documents).await;
            let is_whole = whole.len() == all && !const { is_cut::<T>() };
            let stored = insert_encoded(&core, parts, is_whole, ordered).await?;
            match stored {
                None => Ok(whole),
                Some(stored) => stored
                    .iter()
                    .map(|document| decode::decode(T::META, document))
                    .collect(),
            }
        }))
    }
}

/// Inserts documents. Gives them as they are stored, where that is not as they were encoded, or `is_whole` does not hold: the
/// application has no document that is whole.
pub(crate) fn insert_encoded(
    core: &Core,
    mut parts: Vec<DocumentBuffer>,
    is_whole: bool,
    ordered: bool,
) -> BoxFuture<'_, Result<Option<Vec<RawDocumentBuf>>>> {
    async move {
        let meta = core.meta();
        let mut refused = Vec::new();
        if core.odm().scopes_new(meta) {
            let put = |document: &mut RawDocumentBuf| core.odm().put_scope(meta, document);
            parts = parts.into_iter().map(|part| part.rewritten(put)).collect();
        }
        for part in &mut parts {
            refused.append(&mut part.refused);
        }
        let documents = Packed::from(parts);
        let is_empty = documents.positions().next().is_none();
        if is_empty && refused.is_empty() {
            return Ok(None);
        }
        if ordered && !refused.is_empty() {
            return Err(error(meta, 0, refused));
        }
        let trace = core.trace("insert_many");
        trace
            .run(async {
                let operation = WriteOperation {
                    writes: Writes::Packed {
                        meta,
                        documents,
                        give_back: !is_whole,
                    },
                    batching: Batching::InsertMany { ordered },
                };
                let outcome = match engine::execute(core.cx(&trace), operation).await {
                    Err(Error::Bulk { errors, done }) => {
                        refused.extend(errors);
                        return Err(error(meta, done.inserted, refused));
                    }
                    outcome => outcome?,
                };
                refused.extend(outcome.refusals.errors);
                if refused.is_empty() {
                    Ok((outcome.is_filled_in || !is_whole).then_some(outcome.stored))
                } else {
                    Err(error(meta, outcome.counts.inserted, refused))
                }
            })
            .await
    }
    .boxed()
}

fn error(meta: &DocumentMeta, inserted: u64, mut errors: Vec<(usize, Error)>) -> Error {
    errors.sort_by_key(|(at, _)| *at);
    Error::InsertMany {
        collection: meta.collection,
        inserted: usize::try_from(inserted).unwrap_or(usize::MAX),
        errors,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::{Address, Person};
    use mongodb::bson;
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
