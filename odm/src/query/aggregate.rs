//! Pipelines: typed stages at the start, any stages after them, any type at the end.

use crate::model::document::DocumentMeta;
use crate::model::path::{Holds, Path, Step};
use crate::model::value::Grouped;
use crate::query::filter::IntoSort;
use crate::store::action::Action;
use crate::store::batches::Batch;
use crate::store::core::{Core, batches};
use crate::store::options::configured;
use crate::{Document, Filter, Result, store::decode};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, Stream, StreamExt};
use mongodb::bson::{self, Bson, doc};
use mongodb::options::{AggregateOptions, Collation, Hint};
use mongodb::raw_batch_cursor::RawBatch;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A pipeline. [`all`](Aggregate::all), [`one`](Aggregate::one) or [`stream`](Aggregate::stream) ends it, and `.await` executes
/// it.
///
/// The typed stages name the fields of the document. After a stage that makes documents of another shape, such as `group`, use
/// [`stage`](Aggregate::stage).
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// #[derive(Deserialize)]
/// struct Ages {
///     #[serde(rename = "_id")]
///     city: String,
///     mean: f64,
/// }
/// let ages: Vec<Ages> = people
///     .aggregate()
///     .filter(|p| p.age.gte(18))
///     .unwind(|p| p.addresses)
///     .group(|p| p.addresses.city, |g| g.avg("mean", |p| p.age))
///     .stage(doc! { "$sort": { "mean": -1 } })
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "a pipeline does nothing until its `all`, `one` or `stream` is awaited"]
pub struct Aggregate<T> {
    core: Core,
    stages: Result<Vec<bson::Document>>,
    options: AggregateOptions,
    of: PhantomData<fn() -> T>,
}

impl<T: Document> std::fmt::Debug for Aggregate<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aggregate")
            .field("collection", &T::META.collection)
            .field("stages", &self.stages)
            .finish()
    }
}

/// The values that are computed for each group.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let totals: Option<odm::bson::Document> = people
///     .aggregate()
///     .group(|_| (), |g| g.count("people").avg("age", |p| p.age).max("oldest", |p| p.age))
///     .one()
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Group<T> {
    fields: bson::Document,
    of: PhantomData<fn() -> T>,
}

macro_rules! accumulators {
    ($($(#[$doc:meta])* $name:ident => $operator:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name<V, P: Step, C>(mut self, field: &str, of: impl FnOnce(T::Paths) -> Path<T, V, P, C>) -> Self {
            of(T::paths());
            self.fields.insert(field, doc! { $operator: crate::model::default::expression_of(P::WAY, P::PATH) });
            self
        }
    )*};
}

/// A field's value in an expression.
fn reference(name: &str) -> String {
    format!("${name}")
}

impl<T: Document> Group<T> {
    /// How many documents, in a field of this name of the result.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let totals: Option<odm::bson::Document> =
    ///     people.aggregate().group(|_| (), |g| g.count("people")).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn count(mut self, field: &str) -> Self {
        self.fields.insert(field, doc! { "$sum": 1 });
        self
    }

    accumulators! {
        /// The sum of a field, in a field of this name of the result.
        ///
        /// ```no_run
        /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
        /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
        /// let totals: Option<odm::bson::Document> =
        ///     accounts.aggregate().group(|_| (), |g| g.sum("cents", |a| a.cents)).one().await?;
        /// # Ok(()) }
        /// ```
        sum => "$sum";
        /// The mean of a field.
        avg => "$avg";
        /// The least value of a field.
        min => "$min";
        /// The greatest value of a field.
        max => "$max";
        /// The value of the group's first document, in the order that the pipeline has.
        first => "$first";
        /// The value of the group's last document.
        last => "$last";
    }

    /// Every value once, in no order.
    pub fn distinct<V, P: Step + Holds<V, As: Grouped<V>>, C>(
        mut self,
        field: &str,
        of: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
    ) -> Self {
        of(T::paths());
        self.fields
            .insert(field, doc! { "$addToSet": reference(P::PATH) });
        self
    }
}

/// The key of a group: a path, several in a tuple (from two to four), or `()` for all documents as one group. A tuple is stored
/// as a document of its fields, in whose names a dot is an underscore: `addresses_city`.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// #[derive(Deserialize)]
/// struct Key {
///     name: String,
///     addresses_city: Option<String>,
/// }
/// #[derive(Deserialize)]
/// struct Row {
///     #[serde(rename = "_id")]
///     key: Key,
///     people: i32,
/// }
/// let rows: Vec<Row> = people
///     .aggregate()
///     .unwind(|p| p.addresses)
///     .group(|p| (p.name, p.addresses.city), |g| g.count("people"))
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub trait GroupKey<T> {
    /// The expression of `_id`.
    fn expression(&self) -> Bson;
}

impl<T, V, P: Step + Holds<V, As: Grouped<V>>, C> GroupKey<T> for Path<T, V, P, C> {
    fn expression(&self) -> Bson {
        Bson::String(reference(P::PATH))
    }
}

/// All documents as one group.
impl<T> GroupKey<T> for () {
    fn expression(&self) -> Bson {
        Bson::Null
    }
}

macro_rules! group_keys {
    ($(($($name:ident)*))*) => {$(
        #[allow(non_snake_case)]
        impl<T, $($name: GroupKey<T>),*> GroupKey<T> for ($($name,)*) {
            fn expression(&self) -> Bson {
                let ($($name,)*) = self;
                let mut key = bson::Document::new();
                for part in [$($name.expression()),*] {
                    // `$a.b` is stored as `a_b`: a name in a group's key has no dot.
                    let name = part.as_str().unwrap_or("null").trim_start_matches('$').replace('.', "_");
                    // `a.b` beside `a_b`: each keeps its part of the key.
                    let mut free = name.clone();
                    let mut n = 2;
                    while key.contains_key(&free) {
                        free = format!("{name}_{n}");
                        n += 1;
                    }
                    key.insert(free, part);
                }
                Bson::Document(key)
            }
        }
    )*};
}

group_keys!((A B)(A B C)(A B C D));

configured!(ReadOptions for core of [T] Aggregate<T>;);

impl<T: Document> Aggregate<T> {
    pub(crate) fn new(core: Core) -> Self {
        Aggregate {
            core,
            stages: Ok(Vec::new()),
            options: AggregateOptions::default(),
            of: PhantomData,
        }
    }

    /// Adds a stage in MongoDB's own words. A user's input belongs into it behind `$literal` only: a string that starts
    /// with `$` is a field's name otherwise.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let sample: Vec<Person> = people.aggregate().stage(doc! { "$sample": { "size": 10 } }).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn stage(mut self, stage: bson::Document) -> Self {
        if let Ok(stages) = &mut self.stages {
            stages.push(stage);
        }
        self
    }

    /// Only documents that match: `$match`. At the start of a pipeline it can use indexes.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let adults: Vec<Person> = people.aggregate().filter(|p| p.age.gte(18)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Self {
        match filter(T::paths()).into_document() {
            Ok(filter) => self.stage(doc! { "$match": filter }),
            Err(error) => {
                self.stages = self.stages.and(Err(error));
                self
            }
        }
    }

    /// In this order: `$sort`.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let oldest: Option<Person> = people.aggregate().sort(|p| (p.age.desc(), p.name.asc())).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn sort<S: IntoSort<T>>(self, order: impl FnOnce(T::Paths) -> S) -> Self {
        let sort: bson::Document = order(T::paths())
            .into_sort()
            .iter()
            .map(|order| {
                (
                    order.name.to_owned(),
                    Bson::Int32(if order.descending { -1 } else { 1 }),
                )
            })
            .collect();
        self.stage(doc! { "$sort": sort })
    }

    /// Without the first `n`: `$skip`.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let others: Vec<Person> = people.aggregate().sort(|p| p.age.desc()).skip(3).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn skip(self, n: u64) -> Self {
        self.stage(doc! { "$skip": i64::try_from(n).unwrap_or(i64::MAX) })
    }

    /// At most `n`: `$limit`. MongoDB refuses 0.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let three: Vec<Person> = people.aggregate().sort(|p| p.age.desc()).limit(3).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn limit(self, n: u64) -> Self {
        self.stage(doc! { "$limit": i64::try_from(n).unwrap_or(i64::MAX) })
    }

    /// One document for each item of an array: `$unwind`. A document whose array is empty or missing gives none.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let tags: Vec<odm::bson::Document> =
    ///     people.aggregate().unwind(|p| p.tags).group(|p| p.tags, |g| g.count("people")).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn unwind<V: crate::Array, P: Step, C>(
        self,
        array: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
    ) -> Self {
        array(T::paths());
        self.stage(doc! { "$unwind": reference(P::PATH) })
    }

    /// One document for each value of a field (or of several, in a tuple; or `()` for all documents at once): `$group`.
    /// The result has the key in `_id`, and the fields that the second closure names.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let by_city: Vec<odm::bson::Document> = people
    ///     .aggregate()
    ///     .unwind(|p| p.addresses)
    ///     .group(|p| p.addresses.city, |g| g.count("people").avg("age", |p| p.age))
    ///     .all()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn group<K: GroupKey<T>>(
        self,
        key: impl FnOnce(T::Paths) -> K,
        compute: impl FnOnce(Group<T>) -> Group<T>,
    ) -> Self {
        let mut group = doc! { "_id": key(T::paths()).expression() };
        group.extend(
            compute(Group {
                fields: bson::Document::new(),
                of: PhantomData,
            })
            .fields,
        );
        self.stage(doc! { "$group": group })
    }

    /// The number of documents in one batch from the server, as [`Find::batch_size`](crate::query::Find::batch_size).
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let stream = people.aggregate().filter(|p| p.age.gte(18)).batch_size(1_000).stream::<Named>().await?;
    /// # Ok(()) }
    /// ```
    pub fn batch_size(mut self, n: u32) -> Self {
        self.options.batch_size = Some(n);
        self
    }

    /// Makes the server use the index of this name for the first stage. The server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let kates: Vec<Named> =
    ///     people.aggregate().filter(|p| p.email.starts_with("kate@")).hint("email_1").all().await?;
    /// # Ok(()) }
    /// ```
    pub fn hint(mut self, index: impl Into<String>) -> Self {
        self.options.hint = Some(Hint::Name(index.into()));
        self
    }

    /// Lets the server write to disk what a stage can't hold in
    /// [100 MB of memory](https://www.mongodb.com/docs/manual/core/aggregation-pipeline-limits/): the default from MongoDB 6.0 on,
    /// an option before.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let sorted: Vec<Person> = people.aggregate().sort(|p| p.name.asc()).allow_disk_use().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn allow_disk_use(mut self) -> Self {
        self.options.allow_disk_use = Some(true);
        self
    }

    /// Compares strings by the rules of a language, in all stages, instead of by the
    /// [collation](crate::Document#document) of the collection. An index serves a condition only if it has the same collation.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::mongodb::options::Collation;
    ///
    /// let german = Collation::builder().locale("de").build();
    /// let sorted: Vec<Named> = people.aggregate().sort(|p| p.name.asc()).collation(german).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.options.collation = Some(collation);
        self
    }

    /// All results.
    ///
    /// # Errors
    /// [`Error::Decode`](crate::Error::Decode) for the first result that can't be decoded as `Out`.
    ///
    /// # Cost
    /// One round trip, and one for every further batch.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let names: Vec<Named> = people.aggregate().filter(|p| p.age.gte(18)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn all<Out: DeserializeOwned + Send + 'static>(self) -> Action<Vec<Out>> {
        let all = all(T::META, self.batches());
        Action::new(T::META.collection, "aggregate", Box::new(all))
    }

    /// The first result, if there is one. Adds `$limit` to the pipeline, so it can't end with `$out` or `$merge`.
    ///
    /// # Errors
    /// [`Error::Decode`](crate::Error::Decode) if it can't be decoded as `Out`.
    ///
    /// # Cost
    /// One round trip.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let oldest: Option<Named> = people.aggregate().sort(|p| p.age.desc()).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn one<Out: DeserializeOwned + Send + 'static>(self) -> Action<Option<Out>> {
        let all = all(T::META, self.limit(1).batches());
        let one = async move { Ok(all.await?.pop()) };
        Action::new(T::META.collection, "aggregate", Box::new(one))
    }

    /// One after the other, with one batch in memory.
    ///
    /// # Errors
    /// Those of the server and the network; [`Error::Decode`](crate::Error::Decode) as the item of a result that can't be
    /// decoded.
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
    /// let mut stream = people.aggregate().filter(|p| p.age.gte(18)).stream::<Person>().await?;
    /// while let Some(person) = stream.try_next().await? {
    ///     println!("{}", person.name);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn stream<Out: DeserializeOwned + Send + 'static>(self) -> Action<BoxStream<'static, Result<Out>>> {
        let batches = self.batches();
        let results = async move { Ok(Results::stream(T::META, batches.await?)) };
        Action::new(T::META.collection, "aggregate", Box::new(results))
    }

    fn batches(self) -> Batches {
        send(self.core, self.stages, self.options)
    }
}

/// The batches of a pipeline that is not sent yet.
type Batches = BoxFuture<'static, Result<BoxStream<'static, Result<Batch>>>>;

/// All results of a pipeline.
async fn all<Out: DeserializeOwned + Send>(
    meta: &'static DocumentMeta,
    batches: Batches,
) -> Result<Vec<Out>> {
    let mut batches = batches.await?;
    let mut all = Vec::new();
    while let Some(batch) = batches.next().await {
        batch?.each(meta, &mut |document| {
            all.push(decode::decode(meta, document)?);
            Ok(())
        })?;
    }
    Ok(all)
}

/// The results of a pipeline as documents.
pub(crate) fn documents(
    core: &Core,
    stages: Vec<bson::Document>,
) -> BoxFuture<'static, Result<Vec<bson::Document>>> {
    let batches = send(core.clone(), Ok(stages), AggregateOptions::default());
    all(core.meta(), batches).boxed()
}

/// Sends a pipeline, and gives the batches of its results.
fn send(core: Core, stages: Result<Vec<bson::Document>>, options: AggregateOptions) -> Batches {
    async move {
        core.may_have_options()?;
        let trace = core.trace("aggregate");
        let action = core.raw().aggregate(stages?).with_options(options);
        let meta = core.meta();
        let read = move |batch: RawBatch| Batch::of(meta, batch);
        let batches = trace
            .begin(async { Ok(batches!(&core, action, meta, read)) })
            .await?;
        Ok(trace.go_on(batches))
    }
    .boxed()
}

/// The results of a pipeline. One that can't be decoded is an item with the error, and the others follow.
struct Results<Out> {
    meta: &'static DocumentMeta,
    batches: BoxStream<'static, Result<Batch>>,
    results: std::vec::IntoIter<Result<Out>>,
}

impl<Out: DeserializeOwned + Send + 'static> Results<Out> {
    fn stream(
        meta: &'static DocumentMeta,
        batches: BoxStream<'static, Result<Batch>>,
    ) -> BoxStream<'static, Result<Out>> {
        Box::into_pin(Box::new(Results {
            meta,
            batches,
            results: Vec::new().into_iter(),
        }))
    }
}

// Nothing of it is pinned but what is in a box.
impl<Out> Unpin for Results<Out> {}

impl<Out: DeserializeOwned + Send> Stream for Results<Out> {
    type Item = Result<Out>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(result) = self.results.next() {
                return Poll::Ready(Some(result));
            }
            let Some(batch) = ready!(self.batches.poll_next_unpin(cx)) else {
                return Poll::Ready(None);
            };
            let mut results = Vec::new();
            let meta = self.meta;
            let read = batch.and_then(|batch| {
                batch.each(meta, &mut |document| {
                    results.push(decode::decode(meta, document));
                    Ok(())
                })
            });
            if let Err(error) = read {
                results.push(Err(error));
            }
            self.results = results.into_iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_key_takes_no_other_ones_place() {
        struct Named(&'static str);
        impl GroupKey<()> for Named {
            fn expression(&self) -> Bson {
                reference(self.0).into()
            }
        }
        let key = (
            Named("a.b"),
            Named("a_b"),
            (Named("x"), Named("y")),
            (Named("z"), ()),
        );
        assert_eq!(
            key.expression(),
            Bson::Document(doc! {
                "a_b": "$a.b", "a_b_2": "$a_b",
                "null": { "x": "$x", "y": "$y" }, "null_2": { "z": "$z", "null": null },
            })
        );
    }
}
