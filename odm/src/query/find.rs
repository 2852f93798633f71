//! Queries: what to find, in which order, how much of it, and into which type.

mod rows;

use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::names::read_too;
use crate::query::filter::IntoSort;
use crate::query::join::{ById, Join, ReadFrom as _, Source, Work};
use crate::query::page::Place;
use crate::store::action::Action;
use crate::store::batches::{Batch, Take};
use crate::store::core::{Core, act, batches};
use crate::{Collection, Document, Error, Filter, Order, Projection, Result, store::decode};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, StreamExt};
use mongodb::bson::{Bson, RawDocument, doc};
use mongodb::options::{Collation, FindOneOptions, FindOptions, Hint};
use mongodb::raw_batch_cursor::RawBatch;
pub(crate) use rows::Rows;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

/// A query. One of its final methods says what to read: [`all`](Find::all), [`one`](Find::one), [`stream`](Find::stream),
/// [`page`](Find::page), [`count`](Find::count), [`exists`](Find::exists) or [`explain`](Find::explain). `.await`
/// executes what that returns. The query comes from [`Collection::find`] and [`Collection::find_all`].
///
/// # Errors
/// Each of these returns [`Error::Encode`] where a value in the condition can't be stored as BSON, and the errors of any
/// operation: [`Error::Unavailable`] where the server can't be reached; [`Error::Memory`], [`Error::Index`], [`Error::Pattern`]
/// and [`Error::Refused`] where it refuses the query; [`Error::Driver`] for everything else. Methods that read documents list
/// further errors.
///
/// # Example
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let oldest = people.find(|p| p.tags.contains("rust")).sort(|p| p.age.desc()).limit(3).all().await?;
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until a final method of it is awaited: `all`, `one`, `stream`, `count` or `exists`"]
pub struct Find<T, Out = T, J = ()> {
    pub(crate) query: Query,
    pub(crate) join: J,
    #[allow(clippy::type_complexity)] // variance alone: no value of these types
    into: PhantomData<fn() -> (Box<T>, Box<Out>)>,
}

/// A query without the types of its documents: what is sent to the server. It is compiled once for all types.
pub(crate) struct Query {
    pub(crate) core: Core,
    pub(crate) filter: Filter<()>,
    pub(crate) options: Options,
    pub(crate) sort: Vec<Order<()>>,
    /// The fields of a projection.
    pub(crate) fields: Option<Vec<&'static str>>,
    /// The stored fields that a join reads; `None` where nothing is joined.
    needs: Option<Vec<&'static str>>,
}

impl<T: Document, Out, J> std::fmt::Debug for Find<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Find")
            .field("collection", &T::META.collection)
            .field("filter", &self.query.filter)
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

/// Number of documents of a stream that are in memory with their joined documents: a batch of the server's default size may be
/// 16 MiB of references.
pub(crate) const JOINED_AT_ONCE: u32 = 1_000;

/// The largest batch that can be asked for: the driver takes an `i32`, and adds one where the batch is as long as the
/// limit.
const MOST_AT_ONCE: u32 = i32::MAX as u32 - 1;

/// Hands every document of a cursor of the driver's to `take`, within the session if there is one, and gives the number
/// of batches and that of documents.
macro_rules! hand_out {
    ($core:expr, $action:expr, $take:expr) => {{
        let core: &$crate::store::core::Core = $core;
        match core.session() {
            None => {
                let cursor = $action.batch().await.map_err(|error| core.error(error))?;
                $crate::store::batches::each_of(core.meta(), cursor, $take).await?
            }
            Some(session) => {
                let mut session = session.lock().await;
                let cursor = $action.session(&mut *session).batch().await;
                let mut cursor = cursor.map_err(|error| core.error(error))?;
                $crate::store::batches::each_of(core.meta(), cursor.stream(&mut session), $take).await?
            }
        }
    }};
}
pub(crate) use hand_out;

impl<T: Document> Find<T> {
    pub(crate) fn new(collection: &Collection<T>, filter: Filter<T>) -> Find<T> {
        Find {
            query: Query::new(collection.core().clone(), filter.untyped()),
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
        let fields = Some(P::fields());
        Find {
            query: Query { fields, ..self.query },
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
    /// [`Error::MissingReference`] lists the ids of targets that don't exist, when the query is executed; a reference with
    /// `.or_none()` or `.leave_out_missing()` is no error.
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
            query: self.query,
            join: join(T::paths()),
            into: PhantomData,
        }
    }
}

impl<T: Document, Out: DeserializeOwned + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// Only documents that also match this condition.
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
        self.query.and(filter(T::paths()).untyped());
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
        self.query.sort.clear();
        for order in order(T::paths()).into_sort() {
            self.query.sort.push(order.untyped());
        }
        self
    }

    /// Without the first `n`. The server reads them nevertheless; [`page`](Find::page) costs the same for every page.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let second = people.find_all().sort(|p| p.age.desc()).skip(1).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn skip(mut self, n: u64) -> Self {
        self.query.options.skip = Some(n);
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
        self.query.options.limit = Some(i64::try_from(n).unwrap_or(i64::MAX));
        self
    }

    /// The number of documents in one batch from the server; the server's default is [101 at first, then 16
    /// MiB](https://www.mongodb.com/docs/manual/tutorial/iterate-a-cursor/#cursor-batches).
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let everybody = people.find_all().batch_size(1_000).stream().await?;
    /// # Ok(()) }
    /// ```
    pub fn batch_size(mut self, n: u32) -> Self {
        self.query.options.batch_size = Some(n);
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
        self.query.options.collation = Some(collation);
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
        self.query.options.hint = Some(Hint::Name(index.into()));
        self
    }

    /// Lets the server sort on disk where a sort takes more than 100 MB: the default from MongoDB 6.0 on, an option before. It
    /// applies to the queries of joins, too. [`page`](Find::page) sets it automatically where the server needs it.
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
        self.query.options.allow_disk_use = Some(true);
        self
    }

    /// Collects the documents that can be decoded, and the errors of the others, instead of ending at the first error. Of a
    /// query that joins, the documents that can be decoded come with their joined documents; a joined document that can't be
    /// decoded is an error of the whole query.
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

    /// The query with the fields that the join needs, and the join.
    pub(crate) fn into_query(self) -> (Query, J) {
        let Find { mut query, join, .. } = self;
        query.needs = None;
        if !J::NOTHING {
            let mut names = Vec::new();
            join.needs(&mut names);
            query.needs = Some(names);
        }
        (query, join)
    }

    /// All of them. Memory is needed for all: [`stream`](Find::stream) holds one batch.
    ///
    /// # Errors
    /// [`Error::Decode`] for the first document that can't be decoded.
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
    pub fn all(self) -> Action<Vec<J::Row<Out>>> {
        let (query, join) = self.into_query();
        let all = async move {
            let from = query.source();
            let mut work = Work::of_query(&join, query.is_projected());
            let mut items = Vec::new();
            let mut take = |document: &RawDocument| {
                items.push(decode::decode(T::META, document)?);
                work.parent(document)
            };
            query.each("find", &mut take).await?;
            work.run(&from).await?;
            work.rows(items)
        };
        Action::new(T::META.collection, "find", Box::new(all))
    }

    /// The first, if there is one.
    ///
    /// # Errors
    /// [`Error::Decode`] if it can't be decoded.
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
    pub fn one(self) -> Action<Option<J::Row<Out>>> {
        let (query, join) = self.into_query();
        let one = async move {
            let from = query.source();
            let mut work = Work::of_query(&join, query.is_projected());
            let mut items = Vec::new();
            let mut take = |document: &RawDocument| {
                items.push(decode::decode(T::META, document)?);
                work.parent(document)
            };
            query.first(&mut take).await?;
            if items.is_empty() {
                return Ok(None);
            }
            work.run(&from).await?;
            Ok(work.rows(items)?.pop())
        };
        Action::new(T::META.collection, "find_one", Box::new(one))
    }

    /// One after the other, with one batch in memory. A document that can't be decoded is an item with [`Error::Decode`], and
    /// the documents after it follow.
    ///
    /// # Errors
    /// Those of the server and the network: from `.await` for the first batch, as an item for a later one.
    /// [`Error::CursorLost`] with the position of the last document where the server has closed the cursor; a
    /// [resumable](Find::resumable) stream resumes automatically.
    ///
    /// # Cost
    /// One round trip before the first, and one for every further batch. With joins, a batch has 1,000 documents unless
    /// [`batch_size`](Find::batch_size) is set, and the queries of the join are sent for each of them.
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
    pub fn stream(self) -> Action<BoxStream<'static, Result<J::Row<Out>>>> {
        let (query, join) = self.into_query();
        let (from, projected) = (query.source(), query.is_projected());
        let batches = query.stream();
        let rows = async move { Ok(Rows::of(batches.await?, from, join, projected).whole()) };
        Action::new(T::META.collection, "stream", Box::new(rows))
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
    pub fn count(self) -> Action<u64> {
        self.into_query().0.count()
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
    pub fn exists(self) -> Action<bool> {
        self.into_query().0.exists()
    }
}

impl Query {
    pub(crate) fn new(core: Core, filter: Filter<()>) -> Query {
        Query {
            core,
            filter,
            options: Options::default(),
            sort: Vec::new(),
            fields: None,
            needs: None,
        }
    }

    pub(crate) fn meta(&self) -> &'static DocumentMeta {
        self.core.meta()
    }

    /// Where its joins read.
    pub(crate) fn source(&self) -> Source {
        self.core.source().on_disk(self.options.allow_disk_use)
    }

    /// Whether only a part of each document is read.
    pub(crate) fn is_projected(&self) -> bool {
        self.fields.is_some() || self.options.projection.is_some()
    }

    /// Whether something is joined to the documents.
    pub(crate) fn joins(&self) -> bool {
        self.needs.is_some()
    }

    pub(crate) fn and(&mut self, filter: Filter<()>) {
        let own = std::mem::replace(&mut self.filter, Filter::all());
        self.filter = own & filter;
    }

    /// Puts the order and the projection into the options, and gives the condition.
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

    pub(crate) fn prepare_projection(&mut self) {
        let Some(fields) = self.fields.take() else { return };
        let mut projection: mongodb::bson::Document = fields
            .iter()
            .map(|name| ((*name).to_owned(), Bson::Int32(1)))
            .collect();
        for name in self.needs.iter().flatten() {
            read_too(&mut projection, name);
        }
        // Nor does it take a part of the id without the id. A join names by it what does not fit.
        let has_id = projection
            .keys()
            .any(|name| name == "_id" || name.starts_with("_id."));
        if self.needs.is_none() && !has_id {
            projection.insert("_id", 0);
        }
        self.options.projection = Some(projection);
    }

    /// Hands the first document to `take`, if there is one.
    pub(crate) fn first(mut self, take: Take<'_>) -> BoxFuture<'_, Result<()>> {
        async move {
            if self.options.limit == Some(0) {
                return Ok(());
            }
            let filter = self.prepare()?;
            let trace = self.core.trace("find_one");
            trace.values("filter", &filter);
            trace
                .run(async {
                    let first = || {
                        self.core
                            .raw()
                            .find_one(filter)
                            .with_options(self.options.into_one())
                    };
                    let found = act!(self.core.session(), first()).map_err(|error| self.core.error(error))?;
                    trace.done(1, found.is_some().into());
                    found.map_or(Ok(()), |found| take(&found))
                })
                .await
        }
        .boxed()
    }

    /// The batches of a stream.
    pub(crate) fn stream(mut self) -> BoxFuture<'static, Result<BoxStream<'static, Result<Batch>>>> {
        async move {
            self.prepare_projection();
            if self.joins() {
                self.options.batch_size.get_or_insert(JOINED_AT_ONCE);
            }
            if self.options.limit == Some(0) {
                return Ok(futures::stream::empty().boxed());
            }
            let place = Arc::new(Place::of_query(&self));
            self.batches(place).await
        }
        .boxed()
    }

    /// The documents batch by batch, as the server sends them.
    pub(crate) async fn batches(mut self, place: Arc<Place>) -> Result<BoxStream<'static, Result<Batch>>> {
        let filter = self.prepare()?;
        let trace = self.core.trace("stream");
        trace.values("filter", &filter);
        let action = self.core.raw().find(filter);
        let action = action.with_options(self.options.into_inner());
        let (meta, seen) = (self.core.meta(), place.clone());
        let read = move |batch: RawBatch| {
            let batch = Batch::of(meta, batch)?;
            let mut number = 0;
            batch.each(meta, &mut |document| {
                seen.check(meta.collection, document)?;
                number += 1;
                if number == batch.len() {
                    seen.note(document);
                }
                Ok(())
            })?;
            Ok(batch)
        };
        let batches = trace
            .begin(async { Ok(batches!(self.core.session(), action, meta, read)) })
            .await?;
        let batches = trace.go_on(batches);
        Ok(batches
            .map(move |batch| batch.map_err(|error| place.lost(error)))
            .boxed())
    }

    fn count(mut self) -> Action<u64> {
        let collection = self.meta().collection;
        let count = async move {
            if self.options.limit == Some(0) {
                return Ok(0);
            }
            let filter = self.prepare()?;
            let trace = self.core.trace("count");
            trace.values("filter", &filter);
            trace
                .run(async {
                    let mut options = mongodb::options::CountOptions::default();
                    options.limit = self.options.limit.and_then(|n| u64::try_from(n).ok());
                    options.skip = self.options.skip;
                    options.collation = self.options.collation.clone();
                    options.hint = self.options.hint.clone();
                    let action = self.core.raw().count_documents(filter).with_options(options);
                    let count = act!(self.core.session(), action).map_err(|error| self.core.error(error))?;
                    trace.done(1, count);
                    Ok(count)
                })
                .await
        };
        Action::new(collection, "count", Box::new(count))
    }

    fn exists(mut self) -> Action<bool> {
        let collection = self.meta().collection;
        let exists = async move {
            if self.options.limit == Some(0) {
                return Ok(false);
            }
            let filter = self.prepare()?;
            let trace = self.core.trace("exists");
            trace.values("filter", &filter);
            trace
                .run(async {
                    self.options.sort = None;
                    self.options.projection = Some(doc! { "_id": 1 });
                    let options = self.options.into_one();
                    let action = self.core.raw().find_one(filter).with_options(options);
                    let found = act!(self.core.session(), action)
                        .map_err(|error| self.core.error(error))?
                        .is_some();
                    trace.done(1, found.into());
                    Ok(found)
                })
                .await
        };
        Action::new(collection, "exists", Box::new(exists))
    }

    /// Hands the ids of at most `limit` documents to `take`, found by a collation. Out of a transaction they are read from the
    /// primary, since they are about to be changed.
    pub(crate) fn ids(
        mut self,
        collation: Collation,
        limit: i64,
        take: Take<'_>,
    ) -> BoxFuture<'_, Result<()>> {
        self.options.collation = Some(collation);
        self.options.projection = Some(doc! { "_id": 1 });
        if self.core.session().is_none() {
            self.options.selection_criteria = Some(crate::store::core::PRIMARY);
        }
        self.options.limit = Some(limit);
        self.each("find", take)
    }

    /// Hands every document to `take`, in raw BSON.
    pub(crate) fn each<'a>(mut self, operation: &'static str, take: Take<'a>) -> BoxFuture<'a, Result<()>> {
        async move {
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
            let trace = self.core.trace(operation);
            trace.values("filter", &filter);
            trace
                .run(async {
                    let action = self.core.raw().find(filter);
                    let action = action.with_options(self.options.into_inner());
                    let (round_trips, documents) = hand_out!(&self.core, action, take);
                    trace.done(round_trips, documents);
                    Ok(())
                })
                .await
        }
        .boxed()
    }
}

/// A query that continues after documents that can't be decoded: [`Find::lossy`].
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let found = people.find(|p| p.age.gte(18)).lossy().all().await?;
/// println!("{} fit, {} don't", found.items.len(), found.bad.len());
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until its `all` or `stream` is awaited"]
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
    /// Those of the server and the network; a document that can't be decoded is no error here. Those of a join:
    /// [`Error::MissingReference`], and [`Error::Decode`] for a joined document that can't be decoded.
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
    pub fn all(self) -> Action<Lossy<J::Row<Out>>> {
        let (query, join) = self.find.into_query();
        let all = async move {
            let from = query.source();
            let mut work = Work::of_query(&join, query.is_projected());
            let (mut items, mut bad) = (Vec::new(), Vec::new());
            let mut take = |document: &RawDocument| {
                let item = decode::decode(T::META, document);
                match item.and_then(|item| work.parent(document).map(|()| item)) {
                    Ok(item) => items.push(item),
                    Err(error @ Error::Decode { .. }) => bad.push(error),
                    Err(error) => return Err(error),
                }
                Ok(())
            };
            query.each("find", &mut take).await?;
            work.run(&from).await?;
            let items = work.rows(items)?;
            Ok(Lossy { items, bad })
        };
        Action::new(T::META.collection, "find", Box::new(all))
    }

    /// One after the other: `Ok(Ok(document))`, or `Ok(Err(…))` for one that can't be decoded.
    ///
    /// # Errors
    /// As [`Find::stream`], except that a document that can't be decoded is no error.
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
    #[allow(clippy::type_complexity)] // an error of the stream, and within it that of a document
    pub fn stream(self) -> Action<BoxStream<'static, Result<Result<J::Row<Out>>>>> {
        let (query, join) = self.find.into_query();
        let (from, projected) = (query.source(), query.is_projected());
        let batches = query.stream();
        let rows = async move { Ok(Rows::of(batches.await?, from, join, projected).lossy()) };
        Action::new(T::META.collection, "stream", Box::new(rows))
    }
}

/// The documents of these ids, in their order.
pub(crate) fn get_many<T: Document + Clone>(from: Source, ids: Result<Vec<Bson>>) -> Action<Vec<T>> {
    let found = async move {
        let mut wanted = ById::<T>::new("_id").named("get_many");
        let places: Vec<u32> = ids?.iter().map(|id| wanted.want_key(Key::of_bson(id))).collect();
        wanted.load(&from).await?;
        let found = places.into_iter().filter_map(|at| wanted.get(at, false));
        Ok(found.collect())
    };
    Action::new(T::META.collection, "get_many", Box::new(found))
}
