//! Pipelines: typed stages at the start, any stages after them, any type at the end.

use super::compute::{AddFields, Group, GroupKey, reference};
use super::shape::{Gives, Projected, Reshaped, Typed, Untyped};
use crate::model::default::named;
use crate::model::document::DocumentMeta;
use crate::model::path::{Path, Step};
use crate::model::stored::Row;
use crate::model::variant;
use crate::query::explain::{Explain, explain_pipeline};
use crate::query::filter::IntoSort;
use crate::query::filter::expression::{for_older, truncates};
use crate::query::join::{LookedUp, Stages, warn_of_scan};
use crate::query::scoped::restricted;
use crate::query::untyped::projection;
use crate::store::action::Action;
use crate::store::batches::{Documents, RawDocuments};
use crate::store::core::{Core, batches};
use crate::store::options::configured;
use crate::{Document, Error, Filter, Projection, Result, store::decode};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, Stream, StreamExt};
use mongodb::bson::{self, Bson, doc};
use mongodb::options::{AggregateOptions, Collation, Hint};
use mongodb::raw_batch_cursor::RawBatch;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A pipeline. [`all`](Aggregate::all), [`one`](Aggregate::one) or [`stream`](Aggregate::stream) ends it, and `.await` executes
/// it; [`out`](Aggregate::out) and [`merge`](Aggregate::merge) store its results in a collection.
///
/// The typed stages name the fields of the document. `S` is the shape of the documents at this place: those of the collection (`T`),
/// the same with other fields or single items ([`Reshaped`]), a projection ([`Projected`]), or any ([`Untyped`]) after `group` and
/// raw stages. A typed stage that the shape does not allow does not compile.
///
/// `{}` displays the pipeline as MongoDB's shell takes it, and [`stages`](Aggregate::stages) gives its documents.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// #[derive(Row)]
/// struct Ages {
///     #[field(name = "_id")]
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
pub struct Aggregate<T, S = T> {
    pub(crate) pipeline: Pipeline,
    of: PhantomData<fn() -> (T, S)>,
}

/// A pipeline without types. It is compiled once for all documents.
pub(crate) struct Pipeline {
    pub(crate) core: Core,
    pub(crate) stages: Vec<bson::Document>,
    /// The first thing that is wrong with a stage: nothing is sent then.
    error: Option<Error>,
    options: AggregateOptions,
    /// The arrays of which each document has one item.
    unwound: Vec<&'static str>,
    /// Whether a `$lookup` has a pipeline of its own, which older servers don't take.
    has_pipelines: bool,
}

impl Pipeline {
    fn meta(&self) -> &'static DocumentMeta {
        self.core.meta()
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Refuses a name of a field that is to stand beside those of the documents.
    fn name(&mut self, name: &str) {
        let why = if name.is_empty() || name.starts_with('$') || name.contains(['.', '\0']) {
            "is no name of a field: it is empty, begins with `$`, or holds a `.` or a zero byte"
        } else if crate::model::own_fields::is_own(name) {
            "is a field of the library's own"
        } else if named((self.meta().shape)(), name).is_some() {
            "is a field of the documents, which typed paths go on to name: choose another name, or write a raw `stage`"
        } else {
            return;
        };
        let error = self.refuse(format!("`{name}` {why}"));
        self.fail(error);
    }

    fn refuse(&self, message: String) -> Error {
        Error::Query {
            collection: self.meta().collection,
            message,
        }
    }

    fn add_fields(&mut self, fields: bson::Document) {
        fields.keys().for_each(|name| self.name(name));
        // The server refuses a stage without fields.
        if !fields.is_empty() {
            self.stages.push(doc! { "$addFields": fields });
        }
    }

    fn project(&mut self, fields: &[&'static str]) {
        let is_unwound = |field: &&&'static str| {
            let below = format!("{field}.");
            self.unwound
                .iter()
                .any(|array| array == *field || array.starts_with(&below))
        };
        if let Some(field) = fields.iter().find(is_unwound) {
            let error = self.refuse(format!(
                "`{field}` is unwound, so it has one item where the projection reads the array: leave the field out of the \
                 projection, or write the stage as a raw one"
            ));
            self.fail(error);
        }
        self.stages.push(doc! { "$project": projection(fields, None) });
    }

    fn lookup(&mut self, name: &str, one: bool, stages: Result<Stages>) {
        self.name(name);
        match stages {
            Ok(stages) => {
                self.has_pipelines |= stages.has_pipelines;
                self.stages.extend(stages.into_field(name, one));
            }
            Err(error) => self.fail(error),
        }
    }

    /// The stages as this server takes them.
    pub(super) async fn prepare(&mut self) -> Result<Vec<bson::Document>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.has_pipelines {
            let server = self.core.odm().server().await?;
            if !server.has_lookup_with_pipeline() {
                return Err(Error::Unsupported {
                    operation: "`lookup` of children",
                    needs: "MongoDB 5.0, or 5.1 on a sharded cluster",
                    is: server.to_string(),
                });
            }
        }
        let stages = std::mem::take(&mut self.stages);
        let collated = self.options.collation.is_some();
        let mut stages = restricted(self.core.odm(), self.core.meta(), stages, collated)?;
        if stages.iter().any(truncates) && !self.core.odm().server().await?.has_date_trunc() {
            stages = stages.into_iter().map(for_older).collect();
        }
        Ok(stages)
    }
}

impl<T: Document, S> std::fmt::Debug for Aggregate<T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Aggregate");
        debug.field("collection", &T::META.collection);
        match &self.pipeline.error {
            None => debug.field("stages", &self.pipeline.stages),
            Some(error) => debug.field("error", error),
        };
        debug.finish()
    }
}

/// As MongoDB's shell takes it, a stage in each line.
impl<T: Document, S> std::fmt::Display for Aggregate<T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "db.{}.aggregate([", T::META.collection)?;
        for stage in self.stages() {
            writeln!(f, "  {stage},")?;
        }
        f.write_str("])")
    }
}

configured!(ReadOptions for pipeline.core of [T, S] Aggregate<T, S>;);

impl<T: Document> Aggregate<T> {
    pub(crate) fn new(core: Core) -> Self {
        Aggregate {
            pipeline: Pipeline {
                core,
                stages: Vec::new(),
                error: None,
                options: AggregateOptions::default(),
                unwound: Vec::new(),
                has_pipelines: false,
            },
            of: PhantomData,
        }
    }
}

#[cfg(feature = "atlas")]
impl<T: Document> Aggregate<T> {
    /// With a stage that stands at the beginning of a pipeline alone. An error is that of the whole pipeline.
    pub(crate) fn beginning_with(core: Core, stage: Result<bson::Document>) -> Self {
        let mut aggregate = Aggregate::new(core);
        match stage {
            Ok(stage) => aggregate.pipeline.stages.push(stage),
            Err(error) => aggregate.pipeline.fail(error),
        }
        aggregate
    }
}

impl<T: Document, S> Aggregate<T, S> {
    fn shaped<N>(self) -> Aggregate<T, N> {
        Aggregate {
            pipeline: self.pipeline,
            of: PhantomData,
        }
    }

    /// The stages so far, to look at before they are executed. A stage that is refused when the pipeline is awaited (a filter with a
    /// value that can't be stored, say) is not among them. Before MongoDB 5.0, `$dateTrunc` is sent as expressions that such a server knows.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let pipeline = people.aggregate().filter(|p| p.age.gte(18)).sort(|p| p.name.asc());
    /// assert_eq!(
    ///     pipeline.stages(),
    ///     [doc! { "$match": { "age": { "$gte": 18 } } }, doc! { "$sort": { "name": 1 } }],
    /// );
    /// println!("{pipeline}"); // db.people.aggregate([ …
    /// # Ok(()) }
    /// ```
    pub fn stages(&self) -> &[bson::Document] {
        &self.pipeline.stages
    }

    /// Adds a stage in MongoDB's own words; typed stages can't follow. A user's input belongs into it behind `$literal` only: a string
    /// that starts with `$` is a field's name otherwise.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let sample: Vec<Person> = people.aggregate().stage(doc! { "$sample": { "size": 10 } }).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn stage(mut self, stage: bson::Document) -> Aggregate<T, Untyped> {
        self.pipeline.stages.push(stage);
        self.shaped()
    }

    /// Says that the documents are those of the collection, whole, so that typed stages can follow: after a raw stage that leaves
    /// them as they are, such as `$sample`, `$geoNear` or `$search`. Nothing is checked.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let sample: Vec<Person> = people
    ///     .aggregate()
    ///     .stage(doc! { "$sample": { "size": 10 } })
    ///     .as_documents()
    ///     .sort(|p| p.name.asc())
    ///     .all()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn as_documents(self) -> Aggregate<T> {
        self.shaped()
    }

    /// Only documents that match: `$match`. At the start of a pipeline it can use indexes.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let adults: Vec<Person> = people.aggregate().filter(|p| p.age.gte(18)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn filter(self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Self
    where
        S: Typed<T>,
    {
        self.matching(filter(T::paths()))
    }

    /// The same of a filter that was made elsewhere: in a function of its own, or of a request.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, asked: Filter<Person>) -> odm::Result<()> {
    /// let found: Vec<Person> = people.aggregate().matching(asked).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn matching(mut self, filter: Filter<T>) -> Self
    where
        S: Typed<T>,
    {
        match filter.into_document() {
            Ok(filter) => self.pipeline.stages.push(doc! { "$match": filter }),
            Err(error) => self.pipeline.fail(error),
        }
        self
    }

    /// In this order: `$sort`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let oldest: Option<Person> = people.aggregate().sort(|p| (p.age.desc(), p.name.asc())).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn sort<O: IntoSort<T>>(mut self, order: impl FnOnce(T::Paths) -> O) -> Self
    where
        S: Typed<T>,
    {
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
        self.pipeline.stages.push(doc! { "$sort": sort });
        self
    }

    /// Without the first `n`: `$skip`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let others: Vec<Person> = people.aggregate().sort(|p| p.age.desc()).skip(3).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn skip(mut self, n: u64) -> Self {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        self.pipeline.stages.push(doc! { "$skip": n });
        self
    }

    /// At most `n`: `$limit`. MongoDB refuses 0.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let three: Vec<Person> = people.aggregate().sort(|p| p.age.desc()).limit(3).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn limit(mut self, n: u64) -> Self {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        self.pipeline.stages.push(doc! { "$limit": n });
        self
    }

    /// One document for each item of an array: `$unwind`. A document whose array is empty or missing gives none.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let tags: Vec<odm::bson::Document> =
    ///     people.aggregate().unwind(|p| p.tags).group(|p| p.tags, |g| g.count("people")).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn unwind<V: crate::Array, P: Step, C>(
        mut self,
        array: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
    ) -> Aggregate<T, Reshaped<T>>
    where
        S: Typed<T>,
    {
        array(T::paths());
        // In another variant there is no such array.
        if let Some(is) = variant::expression(P::WAY) {
            self.pipeline.stages.push(doc! { "$match": { "$expr": is } });
        }
        self.pipeline.unwound.push(P::PATH);
        self.pipeline.stages.push(doc! { "$unwind": reference(P::PATH) });
        self.shaped()
    }

    /// Only the fields of a projection, whose type is that of the results from then on: `$project`. No typed stage follows, so
    /// `filter` and `sort` stand before it, where they can use indexes besides.
    ///
    /// # Errors
    /// The pipeline is [`Error::Query`] where the projection reads an array that was [unwound](Aggregate::unwind) before.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let adults = people.aggregate().filter(|p| p.age.gte(18)).project::<Named>().all().await?;
    /// let names: Vec<String> = adults.into_iter().map(|named: Named| named.name).collect();
    /// # Ok(()) }
    /// ```
    pub fn project<Out: Projection<T>>(mut self) -> Aggregate<T, Projected<Out>>
    where
        S: Typed<T>,
    {
        self.pipeline.project(&Out::fields());
        self.shaped()
    }

    /// Further fields, computed of each document: `$addFields`. They have names that the documents don't have, so that typed paths
    /// still name what they say.
    ///
    /// # Errors
    /// The pipeline is [`Error::Query`] for a name that is a field of the documents, and for one that is no name of a field.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
    /// #[derive(Row)]
    /// struct Dated {
    ///     text: String,
    ///     year: i32,
    /// }
    /// let dated: Vec<Dated> =
    ///     comments.aggregate().add_fields(|f| f.field("year", |c| c.at.year())).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn add_fields(
        mut self,
        compute: impl FnOnce(AddFields<T>) -> AddFields<T>,
    ) -> Aggregate<T, Reshaped<T>>
    where
        S: Typed<T>,
    {
        self.pipeline.add_fields(compute(AddFields::new()).fields);
        self.shaped()
    }

    /// Joins what documents refer to (`|p| p.author`), or their children (`|p| p.children::<Comment>()`), as a field of this name:
    /// `$lookup`. Of a reference to one document, and of an only child, the field is the document, and is missing where there is
    /// none; else it is an array, of references in no certain order.
    ///
    /// Outside of pipelines, [`include`](crate::Find::include) joins with the types of both.
    ///
    /// # Errors
    /// The pipeline is [`Error::Query`] for a name that is a field of the documents, and [`Error::Unsupported`] before MongoDB 5.0
    /// (5.1 on a sharded cluster) for children.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// #[derive(Row)]
    /// struct Row {
    ///     title: String,
    ///     writer: Option<User>,
    ///     newest: Vec<Comment>,
    /// }
    /// let rows: Vec<Row> = posts
    ///     .aggregate()
    ///     .lookup("writer", |p| p.author)
    ///     .lookup("newest", |p| p.children::<Comment>().limit(3))
    ///     .all()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn lookup<J: LookedUp<T>>(
        mut self,
        name: &str,
        join: impl FnOnce(T::Paths) -> J,
    ) -> Aggregate<T, Reshaped<T>>
    where
        S: Typed<T>,
    {
        let join = join(T::paths());
        let mut asked = Vec::new();
        join.queries(&mut asked);
        for asked in asked {
            warn_of_scan(asked.of, self.pipeline.core.odm(), &asked.field);
        }
        let mut stages = Stages::into_field_of(name);
        let stages = join.stages(&mut stages).map(|()| stages);
        self.pipeline.lookup(name, J::ONE, stages);
        self.shaped()
    }

    /// One document for each value of a field (or of several, in a tuple; or `()` for all documents at once): `$group`.
    /// The result has the key in `_id`, and the fields that the second closure names. Only raw stages follow.
    ///
    /// ```no_run
    /// # use samples::model::*;
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
    ) -> Aggregate<T, Untyped>
    where
        S: Typed<T>,
    {
        let mut group = doc! { "_id": key(T::paths()).expression() };
        group.extend(compute(Group::new()).fields);
        self.stage(doc! { "$group": group })
    }

    /// The number of documents in one batch from the server, as [`Find::batch_size`](crate::query::Find::batch_size).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let stream = people.aggregate().filter(|p| p.age.gte(18)).batch_size(1_000).stream::<Named>().await?;
    /// # Ok(()) }
    /// ```
    pub fn batch_size(mut self, n: u32) -> Self {
        self.pipeline.options.batch_size = Some(n);
        self
    }

    /// Makes the server use the index of this name for the first stage. The server refuses a name that it does not know.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let kates: Vec<Named> =
    ///     people.aggregate().filter(|p| p.email.starts_with("kate@")).hint("email_1").all().await?;
    /// # Ok(()) }
    /// ```
    pub fn hint(mut self, index: impl Into<String>) -> Self {
        self.pipeline.options.hint = Some(Hint::Name(index.into()));
        self
    }

    /// Lets the server write to disk what a stage can't hold in
    /// [100 MB of memory](https://www.mongodb.com/docs/manual/core/aggregation-pipeline-limits/): the default from MongoDB 6.0 on,
    /// an option before.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let sorted: Vec<Person> = people.aggregate().sort(|p| p.name.asc()).allow_disk_use().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn allow_disk_use(mut self) -> Self {
        self.pipeline.options.allow_disk_use = Some(true);
        self
    }

    /// Compares strings by the rules of a language, in all stages, instead of by the
    /// [collation](crate::Document#document) of the collection. An index serves a condition only if it has the same collation.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::mongodb::options::Collation;
    ///
    /// let german = Collation::builder().locale("de").build();
    /// let sorted: Vec<Named> = people.aggregate().sort(|p| p.name.asc()).collation(german).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn collation(mut self, collation: Collation) -> Self {
        self.pipeline.options.collation = Some(collation);
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
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let names: Vec<Named> = people.aggregate().filter(|p| p.age.gte(18)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn all<Out: Row + Send + 'static>(self) -> Action<Vec<Out>>
    where
        S: Gives<Out>,
    {
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
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let oldest: Option<Named> = people.aggregate().sort(|p| p.age.desc()).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn one<Out: Row + Send + 'static>(self) -> Action<Option<Out>>
    where
        S: Gives<Out>,
    {
        let all = all(T::META, self.limit(1).batches());
        let one = async move { Ok(all.await?.pop()) };
        Action::new(T::META.collection, "aggregate", Box::new(one))
    }

    /// One after the other, with one batch in memory, and a second one on its way.
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
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut stream = people.aggregate().filter(|p| p.age.gte(18)).stream::<Person>().await?;
    /// while let Some(person) = stream.try_next().await? {
    ///     println!("{}", person.name);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn stream<Out: Row + Send + 'static>(self) -> Action<BoxStream<'static, Result<Out>>>
    where
        S: Gives<Out>,
    {
        let batches = self.batches();
        let results = async move { Ok(Results::stream(T::META, batches.await?)) };
        Action::new(T::META.collection, "aggregate", Box::new(results))
    }

    /// Executes the pipeline without returning its results, and reports how the server did it: which index finds its documents, how
    /// many it reads, and its stages, the last first.
    ///
    /// # Errors
    /// The server refuses `explain` within a transaction.
    ///
    /// # Cost
    /// One round trip, and on the server the cost of the pipeline.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let pipeline = people.aggregate().filter(|p| p.email.starts_with("kate"));
    /// let explain = pipeline.group(|p| p.age, |g| g.count("people")).explain().await?;
    /// assert!(!explain.is_collection_scan());
    /// # Ok(()) }
    /// ```
    pub fn explain(self) -> Action<Explain> {
        let mut pipeline = self.pipeline;
        let explain = async move {
            let stages = pipeline.prepare().await?;
            explain_pipeline(pipeline.core, stages, pipeline.options).await
        };
        Action::new(T::META.collection, "explain", Box::new(explain))
    }

    fn batches(self) -> PipelineBatches {
        send(self.pipeline)
    }
}

/// The batches of a pipeline that is not sent yet.
type PipelineBatches = BoxFuture<'static, Result<BoxStream<'static, Result<RawDocuments>>>>;

/// All results of a pipeline.
async fn all<Out: Row + Send>(meta: &'static DocumentMeta, batches: PipelineBatches) -> Result<Vec<Out>> {
    let mut batches = batches.await?;
    let mut all = Vec::new();
    while let Some(batch) = batches.next().await {
        batch?.each(&mut |document| {
            all.push(decode::decode(meta, document)?);
            Ok(())
        })?;
    }
    Ok(all)
}

/// The results of a pipeline as documents, of those in the scope of the handle.
pub(crate) fn documents(
    core: &Core,
    stages: Vec<bson::Document>,
) -> BoxFuture<'static, Result<Vec<bson::Document>>> {
    let stages = restricted(core.odm(), core.meta(), stages, false);
    let core = core.clone();
    async move {
        let batches = aggregate(core.clone(), stages?, AggregateOptions::default());
        all(core.meta(), batches.boxed()).await
    }
    .boxed()
}

/// Sends a pipeline, and gives the batches of its results.
pub(crate) fn send(mut pipeline: Pipeline) -> PipelineBatches {
    async move {
        let stages = pipeline.prepare().await?;
        aggregate(pipeline.core, stages, pipeline.options).await
    }
    .boxed()
}

async fn aggregate(
    core: Core,
    stages: Vec<bson::Document>,
    options: AggregateOptions,
) -> Result<BoxStream<'static, Result<RawDocuments>>> {
    core.may_have_options()?;
    let trace = core.trace("aggregate");
    let meta = core.meta();
    let read = move |batch: RawBatch| RawDocuments::new(meta, batch);
    let batches = trace
        .begin(async {
            Ok(batches!(
                &core,
                [core] core.raw().aggregate(stages).with_options(options),
                meta,
                read
            ))
        })
        .await?;
    Ok(trace.go_on(batches))
}

/// The results of a pipeline. One that can't be decoded is an item with the error, and the others follow.
struct Results<Out> {
    meta: &'static DocumentMeta,
    documents: Documents,
    of: PhantomData<fn() -> Out>,
}

impl<Out: Row + Send + 'static> Results<Out> {
    fn stream(
        meta: &'static DocumentMeta,
        batches: BoxStream<'static, Result<RawDocuments>>,
    ) -> BoxStream<'static, Result<Out>> {
        Box::into_pin(Box::new(Results {
            meta,
            documents: Documents::new(batches),
            of: PhantomData,
        }))
    }
}

// Nothing of it is pinned but what is in a box.
impl<Out> Unpin for Results<Out> {}

impl<Out: Row + Send> Stream for Results<Out> {
    type Item = Result<Out>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let meta = self.meta;
        Poll::Ready(match ready!(self.documents.poll_ready(cx)) {
            Some(Ok(())) => self
                .documents
                .take()
                .map(|document| decode::decode(meta, document)),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }
}
