//! Queries: what to find, in which order, how much of it, and into which type.

mod rows;

use crate::model::path::{Decoder, Holds, Path, Step};
use crate::model::stored::Row;
use crate::model::value::Ordered;
use crate::query::filter::{IntoSort, in_variant_alone};
use crate::query::join::{Join, Work};
pub(crate) use crate::query::untyped::Query;
use crate::store::action::Action;
use crate::store::core::Core;
use crate::store::options::configured;
use crate::{Document, Error, Filter, Projection, Result, store::decode};
use futures::stream::BoxStream;
use mongodb::bson::RawDocument;
use mongodb::options::{Collation, Hint};
pub(crate) use rows::Rows;
use std::marker::PhantomData;

/// A query. One of its final methods says what to read: [`all`](Find::all), [`one`](Find::one), [`stream`](Find::stream),
/// [`page`](Find::page), [`count`](Find::count), [`exists`](Find::exists) or [`explain`](Find::explain). `.await`
/// executes what that returns. The query comes from [`Collection::find`](crate::Collection::find) and
/// [`Collection::find_all`](crate::Collection::find_all).
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
/// # use samples::model::*;
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

impl<T: Document, Out, J> std::fmt::Debug for Find<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Find")
            .field("collection", &T::META.collection)
            .field("filter", &self.query.filter)
            .finish()
    }
}

configured!(ReadOptions for query.core of [T, Out, J] Find<T, Out, J>;);

impl<T: Document> Find<T> {
    pub(crate) fn new(core: Core, filter: Filter<T>) -> Find<T> {
        Find {
            query: Query::for_application(core, filter.untyped()),
            join: (),
            into: PhantomData,
        }
    }
}

impl<T: Document, J: Join<T>> Find<T, T, J> {
    /// Reads into `P` instead of `T`: only its fields cross the network.
    ///
    /// ```no_run
    /// # use samples::model::*;
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

impl<T: Document, Out: Row + Send + 'static> Find<T, Out> {
    /// Joins the documents that these refer to, or that refer to these: each comes as a tuple with what is joined to it.
    ///
    /// The closure names a reference, `.include(|p| p.author)`, or several, `.include(|p| (p.author, p.tags))`; what is
    /// joined in turn, `.include(|c| c.post.include(|p| p.author))`; the children of a parent,
    /// `.include(|p| p.children::<Comment>().limit(10))`. A reference gives its document, an `Option` of one an `Option`, and an
    /// array a `Vec` in the array's order, with duplicates kept. Within an array of embedded documents there is a `Vec` with
    /// one for each of them.
    ///
    /// A flattened struct in an `Option` has no name of its own: it counts as present if the reference in it is. So one that is
    /// there with an empty reference gives `None`.
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
    /// # use samples::model::*;
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

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// Only documents that also match this condition.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, city: Option<String>) -> odm::Result<()> {
    /// let mut query = people.find(|p| p.age.gte(18));
    /// if let Some(city) = city {
    ///     query = query.filter(|p| p.addresses.city.eq(city));
    /// }
    /// let found = query.all().await?;
    /// # Ok(()) }
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Self {
        self.query.and(filter(T::paths()).untyped());
        self
    }

    /// Only those that also match this filter, which was made elsewhere: in a function of its own, or of a request.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// fn of_age() -> Filter<Person> {
    ///     Person::paths().age.gte(18)
    /// }
    ///
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let adults = people.find_all().matching(of_age()).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn matching(mut self, filter: Filter<T>) -> Self {
        self.query.and(filter.untyped());
        self
    }

    /// In this order: `.sort(|p| p.name.asc())`, `.sort(|p| (p.year.desc(), p.name.asc()))`.
    ///
    /// ```no_run
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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

    /// One after the other, with one batch in memory, and a second one on its way. A document that can't be decoded is an item
    /// with [`Error::Decode`], and the documents after it follow.
    ///
    /// # Errors
    /// Those of the server and the network: from `.await` for the first batch, as an item for a later one.
    /// [`Error::CursorLost`] with the position of the last document where the server has closed the cursor; a
    /// [resumable](Find::resumable) stream resumes automatically.
    ///
    /// # Cost
    /// One round trip before the first, and one for every further batch. Outside of transactions, the next batch is requested while
    /// one is read, from the second one on. With joins, a batch has 1,000 documents unless
    /// [`batch_size`](Find::batch_size) is set, and the queries of the join are sent for each of them.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// if people.find(|p| p.email.eq("kate@example.com")).exists().await? {
    ///     println!("taken");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn exists(self) -> Action<bool> {
        self.into_query().0.exists()
    }

    /// The distinct values of a field in the documents that match, in no order; of an array's items with
    /// [`any_item`](crate::query::Path::any_item). Documents without the field have none; sorts, limits and projections of the query don't count.
    ///
    /// # Errors
    /// As [`all`](Find::all), and [`Error::Query`] with `skip` or `limit`. The server refuses more than 16 MiB of values.
    ///
    /// # Cost
    /// One round trip. An index on the field serves it.
    ///
    /// # Variants
    /// Of a field in a variant, those of the documents that have the variant. In the items of an array the server tells no variants
    /// apart: [`Error::Query`].
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let names: Vec<String> = people.find(|p| p.age.gte(18)).distinct(|p| p.name).await?;
    /// let tags: Vec<String> = people.find_all().distinct(|p| p.tags.any_item()).await?;
    /// # Ok(()) }
    /// ```
    pub fn distinct<V, P, C>(self, field: impl FnOnce(T::Paths) -> Path<T, V, P, C>) -> Action<Vec<V>>
    where
        V: Send + 'static,
        P: Step + Holds<V, As: Ordered<V>>,
        C: Decoder<V>,
    {
        let name = field(T::paths()).name();
        let mut query = self.into_query().0;
        if P::IN_VARIANT {
            query.and(in_variant_alone::<P>(T::META.collection));
        }
        let values = query.distinct(name);
        let decoded = async move {
            let values = values.await?;
            let decode = |value| decode::value::<V, C>(T::META, name, value);
            values.into_iter().map(decode).collect()
        };
        Action::new(T::META.collection, "distinct", Box::new(decoded))
    }
}

/// A query that continues after documents that can't be decoded: [`Find::lossy`].
///
/// ```no_run
/// # use samples::model::*;
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
/// # use samples::model::*;
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

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> LossyFind<T, Out, J> {
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
