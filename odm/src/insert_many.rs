//! Many documents, inserted at once.

use crate::collection::act;
use crate::document::Fresh;
use crate::map::Context;
use crate::relation::{self, Done, Duties, IN_ONE, What as Relation, Write};
use crate::session::Shared;
use crate::trace::Trace;
use crate::write::amend;
use crate::{Collection, Document, Error, Result, check, decode};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, RawDocument};
use rayon::prelude::*;
use std::future::IntoFuture;
use std::ops::Range;

/// So many documents are encoded by one thread at a time: some fifty microseconds of work.
const PART: usize = 50;

/// Documents as they are stored, one behind the other in one buffer: a buffer for each took longer than to encode it, where
/// another thread freed it than had made it.
#[derive(Default)]
struct Part {
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
            part.add(first + at, |bytes| encode::<T>(document, bytes));
            if at == 0 {
                // Each is about as long as the one before.
                let more = part
                    .bytes
                    .len()
                    .saturating_add(16)
                    .saturating_mul(documents.len());
                part.bytes.reserve(more.min(PART * 4096));
            }
        }
        part
    }

    fn add(&mut self, at: usize, encode: impl FnOnce(&mut Vec<u8>) -> Result<()>) {
        let start = self.bytes.len();
        match encode(&mut self.bytes) {
            Ok(()) => self.places.push((at, start..self.bytes.len())),
            Err(error) => {
                self.bytes.truncate(start);
                self.refused.push((at, error));
            }
        }
    }
}

/// Writes the document as serde stores it behind what is there, if it is within its bounds.
fn encode<T: Document>(document: &T, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    let written = bson::serialize_to_buffer(document, &mut *bytes);
    let raw = written.and_then(|()| RawDocument::from_bytes(bytes.get(start..).unwrap_or_default()));
    let raw = raw.map_err(|source| Error::Encode {
        field: T::META.name.to_owned(),
        source: Box::new(source),
    })?;
    check::document(T::META, raw)
}

/// Encodes and checks documents, many of them on several threads: all of them are checked before the first is sent, and the
/// server has nothing to do meanwhile.
fn encode_all<T: Document>(documents: &[T]) -> Vec<Part> {
    // A thread that sleeps takes as long to wake as a few of these parts take.
    if documents.len() < 10 * PART {
        return vec![Part::of(0, documents)];
    }
    let parts = documents.par_chunks(PART).enumerate();
    parts.map(|(at, part)| Part::of(at * PART, part)).collect()
}

/// The documents that are whole before others are asked, and how all are stored.
fn encoded_all<T: Document>(documents: Vec<Fresh<T>>) -> (Vec<T>, Vec<Part>) {
    // A document is one or the other by its type, so that all are.
    let mut partial = Part::default();
    let documents = documents.into_iter().enumerate();
    let whole: Vec<T> = documents
        .filter_map(|(at, document)| match document {
            Fresh::Whole(document) => Some(document),
            Fresh::Partial(raw) => {
                partial.add(at, |bytes| {
                    bytes.extend_from_slice(raw?.as_bytes());
                    Ok(())
                });
                None
            }
        })
        .collect();
    let mut parts = encode_all(&whole);
    parts.push(partial);
    (whole, parts)
}

/// Documents to insert. Carried out by `.await`, which gives them as they are stored.
///
/// References are kept true as by [`Insert`]; the documents may refer to each other, in any order. With two-way references, and
/// with copies that are kept true in a transaction, up to 1,000 are one transaction, where the deployment has them: if the
/// server refuses one, none is inserted, also where it is [`unordered`](InsertMany::unordered). More are inserted in parts of
/// 1,000, each a transaction of its own, since a transaction has to end within a minute; documents that may refer to their own
/// kind, or that link one document with two of them, are one all the same. Within [`Odm::transaction`](crate::Odm::transaction) all are inserted, or none.
///
/// # Errors
/// [`Error::Invalid`] and [`Error::TooLarge`] before anything is sent; [`Error::InsertMany`] with the position of each
/// that the server refused, and of the first of a part that failed as a whole behind others. [`Error::MissingReference`] lists
/// all targets that don't exist: then none is inserted, or those that were are deleted again.
///
/// # Cost
/// One round trip for every 100,000 documents or 48 MB; for references as [`Insert`], however many documents there are, but for
/// each part of 1,000 where those are transactions.
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
pub struct InsertMany<'c, T: Document> {
    collection: &'c Collection<T>,
    documents: Vec<Fresh<T>>,
    ordered: bool,
}

impl<'c, T: Document> InsertMany<'c, T> {
    pub(crate) fn new(collection: &'c Collection<T>, documents: Vec<Fresh<T>>) -> Self {
        InsertMany {
            collection,
            documents,
            ordered: true,
        }
    }

    /// Inserts those behind a refused one too, whoever refuses it: one that breaks a bound is not sent.
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

impl<'c, T: Document> IntoFuture for InsertMany<'c, T> {
    type Output = Result<Vec<T>>;
    type IntoFuture = BoxFuture<'c, Result<Vec<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let InsertMany {
                collection,
                documents,
                ordered,
            } = self;
            let (mut documents, mut encoded) = encoded_all(documents);
            // The documents that can be sent, with their positions, and the others with the reason.
            let (mut raw, mut places, mut refused) = (Vec::new(), Vec::new(), Vec::new());
            for part in &mut encoded {
                if ordered && !part.refused.is_empty() {
                    return Err(part.refused.swap_remove(0).1);
                }
                refused.append(&mut part.refused);
                for (at, place) in &part.places {
                    if let Some(Ok(document)) = part.bytes.get(place.clone()).map(RawDocument::from_bytes) {
                        raw.push(document);
                        places.push(*at);
                    }
                }
            }
            let sent = raw.len();
            let mut inserted = 0;
            let trace = collection.trace("insert_many");
            trace
                .run(async {
                    let most = most_at_once(collection, &raw).await?;
                    let related = sent > 0 && amend(collection, &trace).concerns(T::META).await?;
                    if related {
                        documents.clear();
                    }
                    let (mut rest, mut first, mut parts) = (raw.as_slice(), 0, 0);
                    while !rest.is_empty() {
                        let (part, behind) = rest.split_at(most.min(rest.len()));
                        rest = behind;
                        let size = part.len();
                        let stored = related.then_some(&mut documents);
                        let made = insert_part(collection, &trace, part, ordered, stored).await;
                        let ends = ordered || matches!(made, Err(Error::Driver(_)));
                        let made = match made {
                            Err(Error::InsertMany { inserted, errors, .. }) => Inserted {
                                inserted,
                                errors,
                                ordered,
                            },
                            // What became of the parts before it has to be said.
                            Err(error) if first > 0 => Inserted {
                                inserted: 0,
                                errors: vec![(0, error)],
                                ordered,
                            },
                            made => made?,
                        };
                        // A position that was not sent is no position: what the server says is not trusted to index with.
                        let place = |at: usize| places.get(first + at).copied().unwrap_or(first + at);
                        inserted += made.inserted;
                        refused.extend(made.errors.into_iter().map(|(at, error)| (place(at), error)));
                        (first, parts) = (first + size, parts + 1);
                        if ends && !refused.is_empty() {
                            break;
                        }
                    }
                    // The driver splits what is too much for one command; it does not say into how many.
                    trace.done(parts, inserted as u64);
                    if refused.is_empty() {
                        return Ok(documents);
                    }
                    refused.sort_by_key(|(at, _)| *at);
                    Err(Error::InsertMany {
                        collection: T::META.collection,
                        inserted,
                        errors: refused,
                    })
                })
                .await
        }
        .boxed()
    }
}

/// How many documents are inserted at a time: what is a transaction of the operation's own is for [`IN_ONE`] at most, but where
/// the documents may refer to each other.
async fn most_at_once<T: Document>(collection: &Collection<T>, raw: &[&RawDocument]) -> Result<usize> {
    let odm = collection.odm();
    if raw.len() <= IN_ONE || collection.session().is_some() || relation::belong_together(odm, T::META, raw) {
        return Ok(usize::MAX);
    }
    Ok(match Duties::of(odm, inserts::<T>(raw), None)? {
        Some(duties) if duties.is_one().await? => IN_ONE,
        _ => usize::MAX,
    })
}

fn inserts<'a, T: Document>(raw: &'a [&'a RawDocument]) -> impl Iterator<Item = Write<'a>> + Clone {
    raw.iter().map(|document| Write {
        meta: T::META,
        what: Relation::Insert(document),
    })
}

/// Inserts documents at once, with what their references ask for. `stored` takes them as they are stored.
async fn insert_part<T: Document>(
    collection: &Collection<T>,
    trace: &Trace,
    raw: &[&RawDocument],
    ordered: bool,
    stored: Option<&mut Vec<T>>,
) -> Result<Inserted> {
    let mut token = None;
    let mut amended = Vec::new();
    if let Some(stored) = stored {
        amended.extend(raw.iter().map(|document| (*document).to_owned()));
        amend(collection, trace)
            .insert(T::META, &mut amended, &mut token)
            .await?;
        for document in &amended {
            check::document(T::META, document)?;
            stored.push(decode::decode(T::META.collection, document)?);
        }
    }
    let amended: Vec<&RawDocument> = amended.iter().map(AsRef::as_ref).collect();
    let raw = if token.is_some() || !amended.is_empty() {
        &amended
    } else {
        raw
    };
    match Duties::of(collection.odm(), inserts::<T>(raw), token)? {
        None => insert_raw(collection, collection.session().cloned(), raw, ordered).await,
        Some(duties) => {
            let insert = |session| insert_raw(collection, session, raw, ordered).boxed();
            duties.carry_out(collection.session(), trace, insert).await
        }
    }
}

/// What came of inserting many documents.
struct Inserted {
    inserted: usize,
    /// By their positions among those that were sent.
    errors: Vec<(usize, Error)>,
    ordered: bool,
}

impl Done for Inserted {
    fn inserted(&self, position: usize) -> bool {
        match self.ordered {
            true => self.errors.iter().all(|(at, _)| position < *at),
            false => self.errors.iter().all(|(at, _)| position != *at),
        }
    }
}

/// Those that the server refuses are no error here, but in a transaction, which such a refusal ends.
async fn insert_raw<T: Document>(
    collection: &Collection<T>,
    session: Option<Shared>,
    raw: &[&RawDocument],
    ordered: bool,
) -> Result<Inserted> {
    let sent = raw.len();
    let documents = collection.raw().clone_with_type::<&RawDocument>();
    let action = documents.insert_many(raw).ordered(ordered);
    let Err(error) = act!(session.as_ref(), action) else {
        return Ok(Inserted {
            inserted: sent,
            errors: Vec::new(),
            ordered,
        });
    };
    match Context::of(T::META).insert_many(error, sent, ordered) {
        Error::InsertMany { inserted, errors, .. } => {
            let made = Inserted {
                // A transaction of the operation's own is rolled back.
                inserted: match (&session, collection.session()) {
                    (Some(_), None) => 0,
                    _ => inserted,
                },
                errors,
                ordered,
            };
            match session {
                None => Ok(made),
                Some(_) => Err(Error::InsertMany {
                    collection: T::META.collection,
                    inserted: made.inserted,
                    errors: made.errors,
                }),
            }
        }
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::{Address, Person};
    use mongodb::bson::RawDocumentBuf;
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

    #[test]
    fn documents_are_encoded_in_their_order_and_refused_ones_leave_nothing() {
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
            let (whole, parts) = encoded_all(people.iter().cloned().map(Fresh::Whole).collect());
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
}
