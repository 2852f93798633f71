//! Queries: what to find, in which order, how much of it, and into which type.

use crate::collection::act;
use crate::filter::IntoSort;
use crate::{Collection, Document, Error, Filter, Projection, Result, decode};
use futures::stream::{BoxStream, StreamExt};
use mongodb::bson::{Bson, RawDocument, doc};
use mongodb::options::{Collation, FindOptions, Hint};
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A query, until one of its last methods carries it out: [`all`](Find::all), [`one`](Find::one),
/// [`stream`](Find::stream), [`page`](Find::page), [`count`](Find::count), [`exists`](Find::exists) or
/// [`explain`](Find::explain). It comes from [`Collection::find`] and [`Collection::find_all`].
///
/// # Errors
/// Each of these gives [`Error::Encode`] where a value in the condition can't be stored as BSON, and [`Error::Driver`] for
/// what the server or the network reports; those that read documents say what else.
///
/// # Example
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let oldest = people.find(|p| p.tags.contains("rust")).sort(|p| p.age.desc()).limit(3).all().await?;
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until it is carried out, by `all`, `one`, `stream`, `count` or `exists`"]
pub struct Find<'c, T, Out = T> {
    pub(crate) collection: &'c Collection<T>,
    pub(crate) filter: Filter<T>,
    pub(crate) options: FindOptions,
    pub(crate) sort: Vec<crate::Order<T>>,
    pub(crate) fields: Option<Vec<&'static str>>,
    pub(crate) into: PhantomData<fn() -> Out>,
}

impl<T: Document, Out> std::fmt::Debug for Find<'_, T, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Find")
            .field("collection", &T::META.collection)
            .field("filter", &self.filter)
            .finish()
    }
}

impl<'c, T: Document> Find<'c, T> {
    pub(crate) fn new(collection: &'c Collection<T>, filter: Filter<T>) -> Find<'c, T> {
        Find {
            collection,
            filter,
            options: FindOptions::default(),
            sort: Vec::new(),
            fields: None,
            into: PhantomData,
        }
    }

    /// Reads into `P` instead of `T`: only its fields cross the network.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let names: Vec<Named> = people.find(|p| p.age.gte(18)).select::<Named>().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn select<P: Projection<T>>(self) -> Find<'c, T, P> {
        Find {
            collection: self.collection,
            filter: self.filter,
            options: self.options,
            sort: self.sort,
            fields: Some(P::fields()),
            into: PhantomData,
        }
    }
}

impl<'c, T: Document, Out: DeserializeOwned + Send + 'static> Find<'c, T, Out> {
    /// Those that fit this condition too.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>, city: Option<String>) -> odm::Result<()> {
    /// let mut query = people.find(|p| p.age.gte(18));
    /// if let Some(city) = city {
    ///     query = query.and(|p| p.addresses.city.eq(city));
    /// }
    /// let found = query.all().await?;
    /// # Ok(()) }
    /// ```
    pub fn and(mut self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Self {
        self.filter = self.filter & filter(T::paths());
        self
    }

    /// In this order: `.sort(|p| p.name.asc())`, `.sort(|p| (p.year.desc(), p.name.asc()))`.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let people = people.find_all().sort(|p| (p.age.desc(), p.name.asc())).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn sort<S: IntoSort<T>>(mut self, order: impl FnOnce(T::Paths) -> S) -> Self {
        self.sort = order(T::paths()).into_sort();
        self
    }

    /// Without the first `n`. The server reads them all the same: [`page`](Find::page) costs the same for every page.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let second = people.find_all().sort(|p| p.age.desc()).skip(1).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn skip(mut self, n: u64) -> Self {
        self.options.skip = Some(n);
        self
    }

    /// At most `n`; 0 is none at all.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let ten = people.find_all().limit(10).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn limit(mut self, n: u64) -> Self {
        self.options.limit = Some(i64::try_from(n).unwrap_or(i64::MAX));
        self
    }

    /// So many documents in one batch from the server; its own choice is
    /// [101 at first, then 16 MiB](https://www.mongodb.com/docs/manual/tutorial/iterate-a-cursor/#cursor-batches).
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let everybody = people.find_all().batch_size(1_000).stream().await?;
    /// # Ok(()) }
    /// ```
    pub fn batch_size(mut self, n: u32) -> Self {
        self.options.batch_size = Some(n);
        self
    }

    /// Compares strings by the rules of a language. An index serves the condition only if it has the same collation.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::mongodb::options::{Collation, CollationStrength};
    ///
    /// let ignore_case = Collation::builder().locale("en").strength(CollationStrength::Secondary).build();
    /// let kate = people.find(|p| p.name.eq("KATE")).collation(ignore_case).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.options.collation = Some(collation);
        self
    }

    /// Makes the server use the index of this name. The server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let found = people.find(|p| p.email.starts_with("kate@")).hint("email_1").all().await?;
    /// # Ok(()) }
    /// ```
    pub fn hint(mut self, index: impl Into<String>) -> Self {
        self.options.hint = Some(Hint::Name(index.into()));
        self
    }

    pub(crate) fn prepare(&mut self) -> Result<mongodb::bson::Document> {
        if !self.sort.is_empty() {
            self.options.sort = Some(
                self.sort
                    .iter()
                    .map(|o| (o.name.to_owned(), Bson::Int32(if o.descending { -1 } else { 1 })))
                    .collect(),
            );
        }
        if let Some(fields) = &self.fields {
            let mut projection: mongodb::bson::Document = fields
                .iter()
                .map(|name| ((*name).to_owned(), Bson::Int32(1)))
                .collect();
            if !projection.contains_key("_id") {
                projection.insert("_id", 0);
            }
            self.options.projection = Some(projection);
        }
        std::mem::replace(&mut self.filter, Filter::all()).into_document()
    }

    /// All of them. Memory is needed for all: [`stream`](Find::stream) holds one batch.
    ///
    /// # Errors
    /// [`Error::Decode`] for the first document that does not fit.
    ///
    /// # Cost
    /// One round trip for every 16 MB of documents, or for every [`batch_size`](Find::batch_size) if it is set.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let adults = people.find(|p| p.age.gte(18)).all().await?;
    /// # Ok(()) }
    /// ```
    pub async fn all(self) -> Result<Vec<Out>> {
        let mut items = Vec::new();
        self.each("find", |document| {
            items.push(decode::decode(T::META.collection, document)?);
            Ok(())
        })
        .await?;
        Ok(items)
    }

    /// The first, if there is one.
    ///
    /// # Errors
    /// [`Error::Decode`] if it does not fit.
    ///
    /// # Cost
    /// One round trip.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let kate = people.find(|p| p.email.eq("kate@example.com")).one().await?;
    /// # Ok(()) }
    /// ```
    pub async fn one(mut self) -> Result<Option<Out>> {
        if self.options.limit == Some(0) {
            return Ok(None);
        }
        let filter = self.prepare()?;
        let trace = self.collection.trace("find_one");
        trace.values("filter", &filter);
        trace
            .run(async {
                let mut options = mongodb::options::FindOneOptions::default();
                options.sort = self.options.sort;
                options.skip = self.options.skip;
                options.projection = self.options.projection;
                options.collation = self.options.collation;
                options.hint = self.options.hint;
                let action = self.collection.raw().find_one(filter).with_options(options);
                let found = act!(self.collection.session(), action).map_err(Collection::<T>::error)?;
                trace.done(1, found.is_some().into());
                found
                    .map(|found| decode::decode(T::META.collection, &found))
                    .transpose()
            })
            .await
    }

    /// One after the other, with one batch in memory. A document that does not fit is an item with [`Error::Decode`], and
    /// those behind it follow.
    ///
    /// # Errors
    /// Those of the server and the network: from the call itself for the first batch, as an item for a later one.
    ///
    /// # Cost
    /// One round trip before the first, and one for every further batch.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut stream = people.find_all().stream().await?;
    /// while let Some(person) = stream.try_next().await? {
    ///     println!("{}", person.name);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn stream(mut self) -> Result<BoxStream<'static, Result<Out>>> {
        if self.options.limit == Some(0) {
            return Ok(futures::stream::empty().boxed());
        }
        let filter = self.prepare()?;
        let trace = self.collection.trace("stream");
        trace.values("filter", &filter);
        let action = self.collection.raw().find(filter).with_options(self.options);
        match self.collection.session() {
            None => {
                let cursor = trace
                    .run(async { action.batch().await })
                    .await
                    .map_err(Collection::<T>::error)?;
                trace.done(1, 0);
                let documents = cursor.map(|batch| {
                    let decoded = batch.map_err(Collection::<T>::error).and_then(|batch| {
                        let mut items = Vec::new();
                        for document in batch.doc_slices().map_err(Collection::<T>::error)? {
                            items.push(
                                document_of::<T>(document)
                                    .and_then(|d| decode::decode(T::META.collection, d)),
                            );
                        }
                        Ok(items)
                    });
                    futures::stream::iter(match decoded {
                        Ok(items) => items,
                        Err(error) => vec![Err(error)],
                    })
                });
                Ok(documents.flatten().boxed())
            }
            Some(session) => {
                let session = session.clone();
                let cursor = {
                    let mut locked = session.lock().await;
                    action
                        .session(&mut *locked)
                        .await
                        .map_err(Collection::<T>::error)?
                };
                // The session is free between two documents, for other operations of the transaction.
                let documents =
                    futures::stream::try_unfold((cursor, session), |(mut cursor, session)| async move {
                        let next = {
                            let mut locked = session.lock().await;
                            cursor.next(&mut locked).await
                        };
                        match next {
                            None => Ok(None),
                            Some(document) => {
                                let document = document.map_err(Collection::<T>::error)?;
                                let item = decode::decode(T::META.collection, &document);
                                Ok(Some((item, (cursor, session))))
                            }
                        }
                    });
                Ok(documents
                    .map(|item: Result<Result<Out>>| item.and_then(|item| item))
                    .boxed())
            }
        }
    }

    /// Collects the documents that fit, and the errors of those that don't, instead of ending at the first.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let found = people.find_all().lossy().all().await?;
    /// for error in &found.bad {
    ///     eprintln!("{error}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn lossy(self) -> LossyFind<'c, T, Out> {
        LossyFind { find: self }
    }

    /// How many there are, with `skip` and `limit`.
    ///
    /// # Cost
    /// One round trip. The server reads the index entries, or the documents where no index serves the condition.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let adults = people.find(|p| p.age.gte(18)).count().await?;
    /// # Ok(()) }
    /// ```
    pub async fn count(mut self) -> Result<u64> {
        if self.options.limit == Some(0) {
            return Ok(0);
        }
        let filter = self.prepare()?;
        let trace = self.collection.trace("count");
        trace.values("filter", &filter);
        trace
            .run(async {
                let mut options = mongodb::options::CountOptions::default();
                options.limit = self.options.limit.and_then(|n| u64::try_from(n).ok());
                options.skip = self.options.skip;
                options.collation = self.options.collation;
                options.hint = self.options.hint;
                let action = self
                    .collection
                    .raw()
                    .count_documents(filter)
                    .with_options(options);
                let count = act!(self.collection.session(), action).map_err(Collection::<T>::error)?;
                trace.done(1, 0);
                Ok(count)
            })
            .await
    }

    /// Whether there is one.
    ///
    /// # Cost
    /// One round trip, in which at most an id comes back.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// if people.find(|p| p.email.eq("kate@example.com")).exists().await? {
    ///     println!("taken");
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn exists(mut self) -> Result<bool> {
        if self.options.limit == Some(0) {
            return Ok(false);
        }
        let filter = self.prepare()?;
        let trace = self.collection.trace("exists");
        trace.values("filter", &filter);
        trace
            .run(async {
                let mut options = mongodb::options::FindOneOptions::default();
                options.skip = self.options.skip;
                options.collation = self.options.collation;
                options.hint = self.options.hint;
                options.projection = Some(doc! { "_id": 1 });
                let action = self.collection.raw().find_one(filter).with_options(options);
                let found = act!(self.collection.session(), action)
                    .map_err(Collection::<T>::error)?
                    .is_some();
                trace.done(1, found.into());
                Ok(found)
            })
            .await
    }

    /// Hands every document to `take`, in raw BSON.
    pub(crate) async fn each(
        mut self,
        operation: &'static str,
        mut take: impl FnMut(&RawDocument) -> Result<()>,
    ) -> Result<()> {
        if self.options.limit == Some(0) {
            return Ok(());
        }
        // All of them are wanted, so the first batch need not end at the server's 101 documents: it holds what was asked
        // for, up to 16 MB.
        let wanted = self
            .options
            .limit
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(i32::MAX as u32);
        self.options.batch_size.get_or_insert(wanted);
        let filter = self.prepare()?;
        let trace = self.collection.trace(operation);
        trace.values("filter", &filter);
        trace
            .run(async {
                let action = self.collection.raw().find(filter).with_options(self.options);
                let (mut round_trips, mut documents) = (0, 0);
                let mut batch = |batch: mongodb::error::Result<mongodb::raw_batch_cursor::RawBatch>| {
                    let batch = batch.map_err(Collection::<T>::error)?;
                    round_trips += 1;
                    for document in batch.doc_slices().map_err(Collection::<T>::error)? {
                        documents += 1;
                        take(document_of::<T>(document)?)?;
                    }
                    Ok::<(), Error>(())
                };
                match self.collection.session() {
                    None => {
                        let mut cursor = action.batch().await.map_err(Collection::<T>::error)?;
                        while let Some(next) = cursor.next().await {
                            batch(next)?;
                        }
                    }
                    Some(session) => {
                        let mut session = session.lock().await;
                        let mut cursor = action
                            .session(&mut *session)
                            .batch()
                            .await
                            .map_err(Collection::<T>::error)?;
                        let mut stream = cursor.stream(&mut session);
                        while let Some(next) = stream.next().await {
                            batch(next)?;
                        }
                    }
                }
                trace.done(round_trips, documents);
                Ok(())
            })
            .await
    }
}

/// The document in an item of a batch.
fn document_of<T: Document>(
    item: mongodb::bson::error::Result<mongodb::bson::RawBsonRef<'_>>,
) -> Result<&RawDocument> {
    match item {
        Ok(mongodb::bson::RawBsonRef::Document(document)) => Ok(document),
        Ok(other) => Err(Error::Decode {
            collection: T::META.collection.to_owned(),
            id: None,
            ty: T::META.name,
            path: String::new(),
            message: format!(
                "the server's batch holds a {:?} in the place of a document",
                other.element_type()
            ),
        }),
        Err(error) => Err(Error::Decode {
            collection: T::META.collection.to_owned(),
            id: None,
            ty: T::META.name,
            path: String::new(),
            message: error.to_string(),
        }),
    }
}

/// A query that goes on after documents that don't fit: [`Find::lossy`].
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let found = people.find(|p| p.age.gte(18)).lossy().all().await?;
/// println!("{} fit, {} don't", found.items.len(), found.bad.len());
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until it is carried out, by `all`"]
pub struct LossyFind<'c, T, Out> {
    find: Find<'c, T, Out>,
}

impl<T: Document, Out> std::fmt::Debug for LossyFind<'_, T, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.find.fmt(f)
    }
}

/// The documents that fitted, and what was wrong with the others.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(found: odm::Lossy<Person>) -> odm::Result<()> {
/// for error in &found.bad {
///     if let Error::Decode { id, path, message, .. } = error {
///         println!("{id:?}: {path}: {message}");
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Lossy<Out> {
    /// Those that fitted, in the query's order.
    pub items: Vec<Out>,
    /// An [`Error::Decode`] for each of the others: collection, id and path of the field.
    pub bad: Vec<Error>,
}

impl<T: Document, Out: DeserializeOwned + Send + 'static> LossyFind<'_, T, Out> {
    /// All of them.
    ///
    /// # Errors
    /// Those of the server and the network; a document that does not fit is none.
    ///
    /// # Cost
    /// As [`Find::all`].
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let found = people.find_all().lossy().all().await?;
    /// # Ok(()) }
    /// ```
    pub async fn all(self) -> Result<Lossy<Out>> {
        let mut lossy = Lossy {
            items: Vec::new(),
            bad: Vec::new(),
        };
        self.find
            .each("find", |document| {
                match decode::decode(T::META.collection, document) {
                    Ok(item) => lossy.items.push(item),
                    Err(error @ Error::Decode { .. }) => lossy.bad.push(error),
                    Err(error) => return Err(error),
                }
                Ok(())
            })
            .await?;
        Ok(lossy)
    }

    /// One after the other: `Ok(Ok(document))`, or `Ok(Err(…))` for one that does not fit.
    ///
    /// # Errors
    /// As [`Find::stream`], but that a document that does not fit is none.
    ///
    /// # Cost
    /// As [`Find::stream`].
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut stream = people.find_all().lossy().stream().await?;
    /// while let Some(item) = stream.try_next().await? {
    ///     match item {
    ///         Ok(person) => println!("{}", person.name),
    ///         Err(error) => eprintln!("{error}"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn stream(self) -> Result<BoxStream<'static, Result<Result<Out>>>> {
        let stream = self.find.stream().await?;
        Ok(stream
            .map(|item| match item {
                Ok(item) => Ok(Ok(item)),
                Err(error @ Error::Decode { .. }) => Ok(Err(error)),
                Err(error) => Err(error),
            })
            .boxed())
    }
}

/// At most so many ids in one `$in`.
const IDS_IN_ONE_QUERY: usize = 100_000;

/// At most so many bytes of ids in one `$in`: a query is a document, whose limit is 16 MiB.
const BYTES_IN_ONE_QUERY: usize = 12 << 20;

/// A value as a key: its bytes, which are the same for numbers that MongoDB takes as the same id in one type.
fn key_of(id: &Bson) -> Vec<u8> {
    fn plain(id: &Bson) -> Bson {
        match id {
            Bson::Double(n) if *n == 0.0 => Bson::Double(0.0),
            Bson::Double(n) if n.is_nan() => Bson::Double(f64::NAN),
            Bson::Decimal128(n) => Bson::Symbol(plain_decimal(&n.to_string())),
            Bson::Document(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect::<mongodb::bson::Document>()
                .into(),
            Bson::Array(items) => Bson::Array(items.iter().map(plain).collect()),
            other => other.clone(),
        }
    }
    mongodb::bson::serialize_to_vec(&doc! { "": plain(id) }).unwrap_or_default()
}

/// A decimal without the zeros that say how precisely it is meant: `1.50` and `15E-1` are one number.
fn plain_decimal(text: &str) -> String {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (digits, exponent) = rest.split_once(['E', 'e']).unwrap_or((rest, "0"));
    let Ok(exponent) = exponent.parse::<i64>() else {
        return text.to_owned();
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return match rest {
            "NaN" => rest.to_owned(), // with any sign
            _ => text.to_owned(),
        };
    }
    let all = format!("{whole}{fraction}");
    let all = all.trim_start_matches('0');
    let short = all.trim_end_matches('0');
    if short.is_empty() {
        return "0".to_owned();
    }
    let exponent = exponent - fraction.len() as i64 + (all.len() - short.len()) as i64;
    format!("{sign}{short}E{exponent}")
}

/// The documents of these ids, in their order.
pub(crate) async fn get_many<T: Document + Clone>(
    collection: &Collection<T>,
    ids: Vec<Bson>,
) -> Result<Vec<T>> {
    use std::collections::HashMap;
    let mut wanted: HashMap<Vec<u8>, Vec<usize>> = HashMap::with_capacity(ids.len());
    let mut chunks: Vec<Vec<Bson>> = Vec::new();
    let mut bytes = 0;
    for (at, id) in ids.iter().enumerate() {
        let key = key_of(id);
        let size = key.len() + 8; // with its position as a name
        let places = wanted.entry(key).or_default();
        if places.is_empty() {
            bytes += size;
            match chunks.last_mut() {
                Some(chunk) if chunk.len() < IDS_IN_ONE_QUERY && bytes <= BYTES_IN_ONE_QUERY => {
                    chunk.push(id.clone());
                }
                _ => {
                    bytes = size;
                    chunks.push(vec![id.clone()]);
                }
            }
        }
        places.push(at);
    }
    let mut found: Vec<Option<T>> = Vec::new();
    found.resize_with(ids.len(), || None);
    for chunk in chunks {
        let find = Find::new(collection, Filter::raw(doc! { "_id": { "$in": chunk } }));
        find.each("get_many", |document| {
            let item: T = decode::decode(T::META.collection, document)?;
            // By the id as this library writes it: the shell may have stored the same number in another type.
            let Some(places) = wanted.get(&key_of(&crate::operand::id(item.id())?)) else {
                return Ok(());
            };
            if let Some((last, others)) = places.split_last() {
                for at in others {
                    found[*at] = Some(item.clone());
                }
                found[*last] = Some(item);
            }
            Ok(())
        })
        .await?;
    }
    Ok(found.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_equal_have_one_key() {
        let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
        for (a, b) in [
            (Bson::Double(0.0), Bson::Double(-0.0)),
            (Bson::Double(f64::NAN), Bson::Double(-f64::NAN)),
            (decimal("1.50"), decimal("15E-1")),
            (decimal("0"), decimal("-0.00")),
            (decimal("100"), decimal("1E+2")),
            (
                doc! { "at": -0.0, "of": decimal("2.0") }.into(),
                doc! { "at": 0.0, "of": decimal("2") }.into(),
            ),
        ] {
            assert_eq!(key_of(&a), key_of(&b), "{a} {b}");
        }
        for (a, b) in [
            (decimal("1"), decimal("-1")),
            (decimal("1"), decimal("10")),
            (decimal("Infinity"), decimal("-Infinity")),
            (Bson::from("1"), Bson::Int32(1)),
            (doc! { "a": 1, "b": 2 }.into(), doc! { "b": 2, "a": 1 }.into()),
        ] {
            assert_ne!(key_of(&a), key_of(&b), "{a} {b}");
        }
    }
}
