//! Queries: what to find, in which order, how much of it, and into which type.

use crate::collection::{act, batches};
use crate::filter::IntoSort;
use crate::join::{ById, Join, ReadFrom as _, Source, Work};
use crate::key::Key;
use crate::names::read_too;
use crate::page::Place;
use crate::{Collection, Document, Error, Filter, Projection, Result, decode};
use futures::stream::{BoxStream, Stream, StreamExt};
use mongodb::bson::{Bson, RawDocument, doc};
use mongodb::options::{Collation, FindOneOptions, FindOptions, Hint};
use mongodb::raw_batch_cursor::RawBatch;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

/// A query, until one of its last methods carries it out: [`all`](Find::all), [`one`](Find::one),
/// [`stream`](Find::stream), [`page`](Find::page), [`count`](Find::count), [`exists`](Find::exists) or
/// [`explain`](Find::explain). It comes from [`Collection::find`] and [`Collection::find_all`].
///
/// # Errors
/// Each of these gives [`Error::Encode`] where a value in the condition can't be stored as BSON, and what any operation
/// may give: [`Error::Unavailable`] where the server can't be reached, [`Error::Memory`], [`Error::Index`],
/// [`Error::Pattern`] and [`Error::Refused`] for what it refuses, [`Error::Driver`] for the rest. Those that read documents say
/// what else.
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
pub struct Find<T, Out = T, J = ()> {
    pub(crate) collection: Collection<T>,
    pub(crate) filter: Filter<T>,
    pub(crate) options: Options,
    pub(crate) sort: Vec<crate::Order<T>>,
    pub(crate) fields: Option<Vec<&'static str>>,
    pub(crate) join: J,
    pub(crate) into: PhantomData<fn() -> Out>,
}

impl<T: Document, Out, J> std::fmt::Debug for Find<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Find")
            .field("collection", &T::META.collection)
            .field("filter", &self.filter)
            .finish()
    }
}

/// The driver's options of a query. They are large, and a query of one document has none as a rule: so they are in a box,
/// which is made where one is set.
#[derive(Clone, Default)]
pub(crate) struct Options(Option<Box<FindOptions>>);

impl Options {
    pub(crate) fn into_inner(self) -> Option<FindOptions> {
        self.0.map(|options| *options)
    }

    fn into_one(self) -> Option<FindOneOptions> {
        let FindOptions {
            sort,
            skip,
            projection,
            collation,
            hint,
            selection_criteria,
            ..
        } = self.into_inner()?;
        let mut options = FindOneOptions::default();
        options.sort = sort;
        options.skip = skip;
        options.projection = projection;
        options.collation = collation;
        options.hint = hint;
        options.selection_criteria = selection_criteria;
        Some(options)
    }
}

impl Deref for Options {
    type Target = FindOptions;

    fn deref(&self) -> &FindOptions {
        static NONE: LazyLock<FindOptions> = LazyLock::new(FindOptions::default);
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for Options {
    fn deref_mut(&mut self) -> &mut FindOptions {
        self.0.get_or_insert_default()
    }
}

/// So many documents of a stream are in memory with what is joined to them: a batch of the server's own size may be 16 MiB of
/// references.
pub(crate) const JOINED_AT_ONCE: u32 = 1_000;

/// The largest batch that can be asked for: the driver takes an `i32`, and adds one where the batch is as long as the
/// limit.
const MOST_AT_ONCE: u32 = i32::MAX as u32 - 1;

/// Hands every document of a cursor of the driver's to `take`, within the session if there is one, and gives the number
/// of batches and that of documents.
macro_rules! hand_out {
    ($of:ty, $session:expr, $action:expr, $take:expr) => {
        match $session {
            None => {
                let cursor = $action.batch().await.map_err($crate::Collection::<$of>::error)?;
                $crate::find::each_of::<$of>(cursor, $take).await?
            }
            Some(session) => {
                let mut session = session.lock().await;
                let cursor = $action.session(&mut *session).batch().await;
                let mut cursor = cursor.map_err($crate::Collection::<$of>::error)?;
                $crate::find::each_of::<$of>(cursor.stream(&mut session), $take).await?
            }
        }
    };
}
pub(crate) use hand_out;

/// Hands every document of these batches to `take`, and counts both.
pub(crate) async fn each_of<T: Document>(
    mut batches: impl Stream<Item = mongodb::error::Result<RawBatch>> + Unpin,
    mut take: impl FnMut(&RawDocument) -> Result<()>,
) -> Result<(u64, u64)> {
    let (mut round_trips, mut documents) = (0, 0);
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(Collection::<T>::error)?;
        round_trips += 1;
        for document in batch.doc_slices().map_err(Collection::<T>::error)? {
            documents += 1;
            take(document_of::<T>(document)?)?;
        }
    }
    Ok((round_trips, documents))
}

impl<T: Document> Find<T> {
    pub(crate) fn new(collection: &Collection<T>, filter: Filter<T>) -> Find<T> {
        Find {
            collection: collection.clone(),
            filter,
            options: Options::default(),
            sort: Vec::new(),
            fields: None,
            join: (),
            into: PhantomData,
        }
    }
}

impl<T: Document, J: Join<T>> Find<T, T, J> {
    /// Reads into `P` instead of `T`: only its fields cross the network.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let names: Vec<Named> = people.find(|p| p.age.gte(18)).select::<Named>().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn select<P: Projection<T>>(self) -> Find<T, P, J> {
        Find {
            collection: self.collection,
            filter: self.filter,
            options: self.options,
            sort: self.sort,
            fields: Some(P::fields()),
            join: self.join,
            into: PhantomData,
        }
    }
}

impl<T: Document, Out: DeserializeOwned + Send + 'static> Find<T, Out> {
    /// Joins the documents that these refer to, or that refer to these: each comes as a tuple with what is joined to it.
    ///
    /// The closure names a reference, `.include(|p| p.author)`, or several, `.include(|p| (p.author, p.tags))`; what is
    /// joined in turn, `.include(|c| c.post.include(|p| p.author))`; the children of a parent,
    /// `.include(|p| p.children::<Comment>().limit(10))`. A reference gives its document, an `Option` of one an `Option`, and an
    /// array a `Vec` in the array's order, with duplicates kept. Within an array of embedded documents there is a `Vec` with
    /// one for each of them.
    ///
    /// # Errors
    /// [`Error::MissingReference`] lists the ids of targets that don't exist, when the query is carried out; a reference with
    /// `.or_none()` or `.leave_out_missing()` gives something else.
    ///
    /// # Cost
    /// One round trip more for each hop and each collection that is joined, however many documents there are: one reference
    /// costs 2 altogether, three references to different collections 4, two hops 3. Where the ids take more than 12 MiB or are
    /// more than 100,000, there is one for each part of them, and several of them are on their way together (in a
    /// transaction one after the other).
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let mine: Vec<(Post, User)> = posts.find(|p| p.title.starts_with("Rust")).include(|p| p.author).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn include<J: Join<T>>(self, join: impl FnOnce(T::Paths) -> J) -> Find<T, Out, J> {
        Find {
            collection: self.collection,
            filter: self.filter,
            options: self.options,
            sort: self.sort,
            fields: self.fields,
            join: join(T::paths()),
            into: PhantomData,
        }
    }
}

impl<T: Document, Out: DeserializeOwned + Send + 'static, J: Join<T>> Find<T, Out, J> {
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

    /// Lets the server sort on disk what takes more than 100 MB: the default from MongoDB 6.0 on, an option before. So do the
    /// queries of its joins. [`page`](Find::page) does it by itself where the server needs it.
    ///
    /// An index that has the order needs no sort at all. MongoDB Atlas refuses the option on its smallest clusters.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let stream = people.find_all().sort(|p| p.name.asc()).allow_disk_use().stream().await?;
    /// # Ok(()) }
    /// ```
    pub fn allow_disk_use(mut self) -> Self {
        self.options.allow_disk_use = Some(true);
        self
    }

    /// Collects the documents that fit, and the errors of those that don't, instead of ending at the first. Of a query that
    /// joins, the documents that fit come with what is joined to them; a joined document that does not fit is an error of
    /// the whole query.
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
    pub fn lossy(self) -> LossyFind<T, Out, J> {
        LossyFind { find: self }
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
        self.prepare_projection();
        std::mem::replace(&mut self.filter, Filter::all()).into_document()
    }

    fn prepare_projection(&mut self) {
        if let Some(fields) = &self.fields {
            let mut projection: mongodb::bson::Document = fields
                .iter()
                .map(|name| ((*name).to_owned(), Bson::Int32(1)))
                .collect();
            let mut joined = Vec::new();
            self.join.needs(&mut joined);
            for name in joined {
                read_too(&mut projection, name);
            }
            // Nor does it take a part of the id without the id. A join names by it what does not fit.
            if J::NOTHING
                && !projection
                    .keys()
                    .any(|name| name == "_id" || name.starts_with("_id."))
            {
                projection.insert("_id", 0);
            }
            self.options.projection = Some(projection);
        }
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
    pub async fn all(self) -> Result<Vec<J::Row<Out>>> {
        let (find, join) = self.without_join();
        let from = find.collection.source().on_disk(find.options.allow_disk_use);
        let mut work = Work::of_query(&join, find.options.projection.is_some());
        let mut items = Vec::new();
        find.each("find", |document| {
            items.push(decode::decode(T::META, document)?);
            work.parent(document)
        })
        .await?;
        work.run(&from).await?;
        work.rows(items)
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
    pub async fn one(self) -> Result<Option<J::Row<Out>>> {
        let (find, join) = self.without_join();
        let from = find.collection.source().on_disk(find.options.allow_disk_use);
        let mut work = Work::of_query(&join, find.options.projection.is_some());
        let Some((item, raw)) = find.first().await? else {
            return Ok(None);
        };
        work.parent(&raw)?;
        work.run(&from).await?;
        Ok(work.rows(vec![item])?.pop())
    }

    /// The query with the fields that the join needs, and the join.
    pub(crate) fn without_join(mut self) -> (Find<T, Out>, J) {
        self.prepare_projection();
        (
            Find {
                collection: self.collection,
                filter: self.filter,
                options: self.options,
                sort: self.sort,
                fields: None,
                join: (),
                into: PhantomData,
            },
            self.join,
        )
    }

    /// The documents batch by batch, as the server sends them.
    pub(crate) async fn batches(
        mut self,
        keep: bool,
        place: Arc<Place>,
    ) -> Result<BoxStream<'static, Result<Vec<Batched<Out>>>>> {
        let filter = self.prepare()?;
        let trace = self.collection.trace("stream");
        trace.values("filter", &filter);
        let action = self
            .collection
            .raw()
            .find(filter)
            .with_options(self.options.into_inner());
        let seen = place.clone();
        let read = move |batch: RawBatch| {
            let documents = batch.doc_slices().map_err(Collection::<T>::error)?;
            let mut last = None;
            let batch = documents
                .into_iter()
                .map(|document| {
                    let document = document_of::<T>(document)?;
                    seen.check(T::META.collection, document)?;
                    last = Some(document);
                    Ok(Batched::of::<T>(document, keep))
                })
                .collect::<Result<Vec<_>>>()?;
            if let Some(last) = last {
                seen.note(last);
            }
            Ok(batch)
        };
        let batches = trace
            .begin(async {
                Ok(batches!(
                    self.collection.session(),
                    action,
                    Collection::<T>::error,
                    read
                ))
            })
            .await?;
        let batches = trace.go_on(batches);
        Ok(batches
            .map(move |batch| batch.map_err(|error| place.lost(error)))
            .boxed())
    }

    async fn first(mut self) -> Result<Option<(Out, mongodb::bson::RawDocumentBuf)>> {
        if self.options.limit == Some(0) {
            return Ok(None);
        }
        let filter = self.prepare()?;
        let trace = self.collection.trace("find_one");
        trace.values("filter", &filter);
        trace
            .run(async {
                let options = self.options.into_one();
                let action = self.collection.raw().find_one(filter).with_options(options);
                let found = act!(self.collection.session(), action).map_err(Collection::<T>::error)?;
                trace.done(1, found.is_some().into());
                found
                    .map(|raw| Ok((decode::decode(T::META, &raw)?, raw)))
                    .transpose()
            })
            .await
    }

    /// One after the other, with one batch in memory. A document that does not fit is an item with [`Error::Decode`], and
    /// those behind it follow.
    ///
    /// # Errors
    /// Those of the server and the network: from the call itself for the first batch, as an item for a later one.
    /// [`Error::CursorLost`] with the place of the last document where the server has closed the cursor; a
    /// [resumable](Find::resumable) stream goes on by itself.
    ///
    /// # Cost
    /// One round trip before the first, and one for every further batch. Where something is joined, these are 1,000 documents each
    /// if [`batch_size`](Find::batch_size) says nothing, and the queries of the join are sent for each of them.
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
    pub async fn stream(self) -> Result<BoxStream<'static, Result<J::Row<Out>>>> {
        Ok(self.rows().await?.map(|row| row?).boxed())
    }

    /// One after the other; within it the error of a document that does not fit.
    async fn rows(self) -> Result<BoxStream<'static, Result<Result<J::Row<Out>>>>> {
        let (mut find, join) = self.without_join();
        let join = Arc::new(join);
        if !J::NOTHING {
            find.options.batch_size.get_or_insert(JOINED_AT_ONCE);
        }
        if find.options.limit == Some(0) {
            return Ok(futures::stream::empty().boxed());
        }
        let from = find.collection.source().on_disk(find.options.allow_disk_use);
        let projected = find.options.projection.is_some();
        let place = Arc::new(Place::of_query(&find));
        let batches = find.batches(!J::NOTHING, place).await?;
        Ok(joined(batches, from, join, projected))
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
                options.collation = self.options.collation.clone();
                options.hint = self.options.hint.clone();
                let action = self
                    .collection
                    .raw()
                    .count_documents(filter)
                    .with_options(options);
                let count = act!(self.collection.session(), action).map_err(Collection::<T>::error)?;
                trace.done(1, count);
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
                self.options.sort = None;
                self.options.projection = Some(doc! { "_id": 1 });
                let options = self.options.into_one();
                let action = self.collection.raw().find_one(filter).with_options(options);
                let found = act!(self.collection.session(), action)
                    .map_err(Collection::<T>::error)?
                    .is_some();
                trace.done(1, found.into());
                Ok(found)
            })
            .await
    }

    /// Hands the ids of at most `limit` documents to `take`, found by a collation. Out of a transaction they are read from the
    /// primary, since they are about to be changed.
    pub(crate) async fn ids(
        mut self,
        collation: Collation,
        limit: u64,
        take: impl FnMut(&RawDocument) -> Result<()>,
    ) -> Result<()> {
        self.options.collation = Some(collation);
        self.options.projection = Some(doc! { "_id": 1 });
        if self.collection.session().is_none() {
            self.options.selection_criteria = Some(crate::write::PRIMARY);
        }
        self.limit(limit).each("find", take).await
    }

    /// Hands every document to `take`, in raw BSON.
    pub(crate) async fn each(
        mut self,
        operation: &'static str,
        take: impl FnMut(&RawDocument) -> Result<()>,
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
            .unwrap_or(MOST_AT_ONCE)
            .min(MOST_AT_ONCE);
        self.options.batch_size.get_or_insert(wanted);
        let filter = self.prepare()?;
        let trace = self.collection.trace(operation);
        trace.values("filter", &filter);
        trace
            .run(async {
                let action = self
                    .collection
                    .raw()
                    .find(filter)
                    .with_options(self.options.into_inner());
                let (round_trips, documents) = hand_out!(T, self.collection.session(), action, take);
                trace.done(round_trips, documents);
                Ok(())
            })
            .await
    }
}

/// The rows of a stream. One batch is in memory, with what is joined to it.
pub(crate) fn joined<T: Document, Out: DeserializeOwned + Send + 'static, J: Join<T>>(
    batches: BoxStream<'static, Result<Vec<Batched<Out>>>>,
    from: Source,
    join: Arc<J>,
    projected: bool,
) -> BoxStream<'static, Result<Result<J::Row<Out>>>> {
    let rows = batches.then(move |batch| {
        let (from, join) = (from.clone(), join.clone());
        async move {
            match batch {
                Ok(batch) => join_batch(&from, &*join, projected, batch).await,
                Err(error) => vec![Err(error)],
            }
        }
    });
    rows.flat_map(futures::stream::iter).boxed()
}

/// The documents of a batch with what is joined to them; one that does not fit is an error in its place. Where the join
/// fails, its error stands for all that fit.
async fn join_batch<T: Document, Out: DeserializeOwned + Send + 'static, J: Join<T>>(
    from: &Source,
    join: &J,
    projected: bool,
    batch: Vec<Batched<Out>>,
) -> Vec<Result<Result<J::Row<Out>>>> {
    let mut work = Work::of_query(join, projected);
    let mut noted = Vec::with_capacity(batch.len());
    let mut documents = Vec::with_capacity(batch.len());
    for Batched { document, raw } in batch {
        let document = document.and_then(|document| {
            if let Some(raw) = raw {
                work.parent(&raw)?;
            }
            Ok(document)
        });
        noted.push(document.map(|document| documents.push(document)));
    }
    let rows = match work.run(from).await {
        Ok(()) => work.rows(documents),
        Err(error) => Err(error),
    };
    let (mut rows, failed) = match rows {
        Ok(rows) => (rows.into_iter(), None),
        Err(error) => (Vec::new().into_iter(), Some(error)),
    };
    let joined = noted.into_iter().filter_map(|noted| match noted {
        Ok(()) => rows.next().map(|row| Ok(Ok(row))),
        Err(error) => Some(Ok(Err(error))),
    });
    joined.chain(failed.map(Err)).collect()
}

/// One document of a batch: itself, and its raw form where something is joined to it.
pub(crate) struct Batched<Out> {
    document: Result<Out>,
    raw: Option<mongodb::bson::RawDocumentBuf>,
}

impl<Out: DeserializeOwned> Batched<Out> {
    fn of<T: Document>(raw: &RawDocument, keep: bool) -> Batched<Out> {
        Batched {
            document: decode::decode(T::META, raw),
            raw: keep.then(|| raw.to_owned()),
        }
    }
}

/// The document in an item of a batch.
pub(crate) fn document_of<T: Document>(
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
pub struct LossyFind<T, Out, J = ()> {
    find: Find<T, Out, J>,
}

impl<T: Document, Out, J> std::fmt::Debug for LossyFind<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.find.fmt(f)
    }
}

/// The documents that fitted, and what was wrong with the others.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(found: odm::query::Lossy<Person>) -> odm::Result<()> {
/// for error in &found.bad {
///     if let Error::Decode { id, path, message, .. } = error {
///         println!("{id:?}: {path}: {message}");
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Lossy<Out> {
    /// Those that fitted, in the query's order, each with what is joined to it.
    pub items: Vec<Out>,
    /// An [`Error::Decode`] for each of the others: collection, id and path of the field.
    pub bad: Vec<Error>,
}

impl<T: Document, Out: DeserializeOwned + Send + 'static, J: Join<T>> LossyFind<T, Out, J> {
    /// All of them.
    ///
    /// # Errors
    /// Those of the server and the network; a document that does not fit is none. Those of a join:
    /// [`Error::MissingReference`], and [`Error::Decode`] for a joined document that does not fit.
    ///
    /// # Cost
    /// As [`Find::all`].
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let found: odm::query::Lossy<(Post, User)> = posts.find_all().include(|p| p.author).lossy().all().await?;
    /// # Ok(()) }
    /// ```
    pub async fn all(self) -> Result<Lossy<J::Row<Out>>> {
        let (find, join) = self.find.without_join();
        let from = find.collection.source().on_disk(find.options.allow_disk_use);
        let mut work = Work::of_query(&join, find.options.projection.is_some());
        let (mut items, mut bad) = (Vec::new(), Vec::new());
        find.each("find", |document| {
            let item = decode::decode(T::META, document);
            match item.and_then(|item| work.parent(document).map(|()| item)) {
                Ok(item) => items.push(item),
                Err(error @ Error::Decode { .. }) => bad.push(error),
                Err(error) => return Err(error),
            }
            Ok(())
        })
        .await?;
        work.run(&from).await?;
        let items = work.rows(items)?;
        Ok(Lossy { items, bad })
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
    pub async fn stream(self) -> Result<BoxStream<'static, Result<Result<J::Row<Out>>>>> {
        self.find.rows().await
    }
}

/// The documents of these ids, in their order.
pub(crate) async fn get_many<T: Document + Clone>(
    collection: &Collection<T>,
    ids: Vec<Bson>,
) -> Result<Vec<T>> {
    let mut wanted = ById::<T>::new("_id").named("get_many");
    let places: Vec<u32> = ids.iter().map(|id| wanted.want_key(Key::of_bson(id))).collect();
    wanted.load(&collection.source()).await?;
    Ok(places
        .into_iter()
        .filter_map(|at| wanted.get(at, false))
        .collect())
}
