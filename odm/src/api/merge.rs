//! Pipelines whose results are stored in a collection: `$out` and `$merge`.

use crate::graph::concern::rule_that_concerns;
use crate::query::Aggregate;
use crate::query::aggregate::{Pipeline, send};
use crate::store::action::Action;
use crate::{Document, Error, Result};
use futures::future::BoxFuture;
use futures::stream::StreamExt;
use mongodb::bson::{self, doc};
use std::future::IntoFuture;

/// What [`Merge`] does with a result whose document is there already.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use odm::write::WhenMatched;
///
/// let counts = people.aggregate().group(|p| p.age, |g| g.count("people"));
/// counts.merge("people_by_age").when_matched(WhenMatched::Replace).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WhenMatched {
    /// Sets the fields of the result in it: the default.
    Merge,
    /// Replaces it.
    Replace,
    /// Leaves it as it is.
    Keep,
    /// Ends with an error; results before it are stored.
    Fail,
    /// Updates it by these stages, in MongoDB's own words; `$$new` is the result.
    Update(Vec<bson::Document>),
}

/// What [`Merge`] does with a result of which there is no document yet.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use odm::write::WhenNotMatched;
///
/// let counts = people.aggregate().group(|p| p.age, |g| g.count("people"));
/// counts.merge("people_by_age").when_not_matched(WhenNotMatched::Discard).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenNotMatched {
    /// Inserts it: the default.
    Insert,
    /// Leaves it out.
    Discard,
    /// Ends with an error; results before it are stored.
    Fail,
}

/// A pipeline that stores its results in a collection: [`Aggregate::merge`]. `.await` executes it.
///
/// # Errors
/// Those of [`Aggregate::merge`].
///
/// # Cost
/// Two round trips: one asks whether the database knows a declaration of a program with other models.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// people.aggregate().group(|p| p.age, |g| g.count("people")).merge("people_by_age").await?;
/// # Ok(()) }
/// ```
#[must_use = "a pipeline does nothing until it is awaited"]
pub struct Merge {
    pipeline: Pipeline,
    into: String,
    on: Vec<String>,
    matched: WhenMatched,
    not_matched: WhenNotMatched,
}

impl std::fmt::Debug for Merge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merge")
            .field("stages", &self.pipeline.stages)
            .field("merge", &self.stage())
            .finish()
    }
}

impl<T: Document, S> Aggregate<T, S> {
    /// Stores the results in a collection of the same database, beside the documents that are there: `$merge`. By default a result is
    /// merged into the document with its `_id`, or inserted.
    ///
    /// The collection is one that no rule of the library concerns, since the server writes it without the library: a collection that no
    /// model declares, or that of a model without references, copies, computed fields, a version and timestamps, to which no
    /// model refers, without hooks, and whose validator refuses what does not fit. Nor may another program have declared anything of it.
    ///
    /// # Errors
    /// [`Error::Query`] for another collection, for the library's own, and within a transaction, where MongoDB takes no such stage;
    /// [`Error::Invalid`] for a result that the collection's validator refuses.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::write::WhenMatched;
    ///
    /// people
    ///     .aggregate()
    ///     .group(|p| p.age, |g| g.count("people"))
    ///     .merge("people_by_age")
    ///     .when_matched(WhenMatched::Replace)
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn merge(self, collection: impl Into<String>) -> Merge {
        Merge {
            pipeline: self.pipeline,
            into: collection.into(),
            on: Vec::new(),
            matched: WhenMatched::Merge,
            not_matched: WhenNotMatched::Insert,
        }
    }

    /// Replaces a collection of the same database by the results, at once when all are there: `$out`. Its indexes and its validator
    /// stay.
    ///
    /// # Errors
    /// [`Error::Query`] for a collection of a model, which would lose documents that its rules concern, for the library's own, and
    /// within a transaction, where MongoDB takes no such stage.
    ///
    /// # Cost
    /// Two round trips, as [`Merge`].
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// people.aggregate().group(|p| p.age, |g| g.count("people")).out("people_by_age").await?;
    /// # Ok(()) }
    /// ```
    pub fn out(self, collection: impl Into<String>) -> Action<()> {
        let (pipeline, into) = (self.pipeline, collection.into());
        let stage = doc! { "$out": &into };
        let stored = store(pipeline, into, "$out", stage);
        Action::new(T::META.collection, "aggregate", Box::new(stored))
    }
}

impl Merge {
    /// The fields by which a result is the same as a document, instead of `_id`. A unique index has exactly these fields, in the
    /// collection that is written, and each result has a value of each.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let ages = people.aggregate().group(|p| p.age, |g| g.count("people"));
    /// let renamed = ages.stage(doc! { "$project": { "_id": 0, "age": "$_id", "people": 1 } });
    /// renamed.merge("people_by_age").on(["age"]).await?;
    /// # Ok(()) }
    /// ```
    pub fn on(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.on = fields.into_iter().map(Into::into).collect();
        self
    }

    /// What becomes of a document that is there.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::write::WhenMatched;
    ///
    /// // Adds to the number that is there.
    /// let add = vec![doc! { "$set": { "people": { "$add": ["$people", "$$new.people"] } } }];
    /// let counts = people.aggregate().group(|p| p.age, |g| g.count("people"));
    /// counts.merge("people_by_age").when_matched(WhenMatched::Update(add)).await?;
    /// # Ok(()) }
    /// ```
    pub fn when_matched(mut self, what: WhenMatched) -> Self {
        self.matched = what;
        self
    }

    /// What becomes of a result of which there is no document.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::write::WhenNotMatched;
    ///
    /// let counts = people.aggregate().group(|p| p.age, |g| g.count("people"));
    /// counts.merge("people_by_age").when_not_matched(WhenNotMatched::Fail).await?;
    /// # Ok(()) }
    /// ```
    pub fn when_not_matched(mut self, what: WhenNotMatched) -> Self {
        self.not_matched = what;
        self
    }

    fn stage(&self) -> bson::Document {
        let mut merge = doc! { "into": &self.into };
        if !self.on.is_empty() {
            merge.insert("on", &self.on);
        }
        let name = match &self.matched {
            WhenMatched::Merge => "merge",
            WhenMatched::Replace => "replace",
            WhenMatched::Keep => "keepExisting",
            WhenMatched::Fail => "fail",
            WhenMatched::Update(_) => "",
        };
        match &self.matched {
            WhenMatched::Update(stages) => merge.insert("whenMatched", stages),
            _ => merge.insert("whenMatched", name),
        };
        let name = match self.not_matched {
            WhenNotMatched::Insert => "insert",
            WhenNotMatched::Discard => "discard",
            WhenNotMatched::Fail => "fail",
        };
        merge.insert("whenNotMatched", name);
        doc! { "$merge": merge }
    }
}

impl IntoFuture for Merge {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Result<()>>;

    fn into_future(self) -> Self::IntoFuture {
        let stage = self.stage();
        Box::into_pin(Box::new(store(self.pipeline, self.into, "$merge", stage)))
    }
}

/// Executes a pipeline with this stage at its end.
async fn store(
    mut pipeline: Pipeline,
    into: String,
    operator: &'static str,
    stage: bson::Document,
) -> Result<()> {
    let mut why = refused(&pipeline, &into, operator);
    if why.is_none() && is_declared(&pipeline, &into).await? {
        let others =
            "a program with other models has declared references, copies or computed fields of its documents";
        why = Some(sentence(operator, &into, others));
    }
    if let Some(message) = why {
        return Err(Error::Query {
            collection: pipeline.core.meta().collection,
            message,
        });
    }
    pipeline.stages.push(stage);
    let mut batches = send(pipeline).await?;
    while let Some(batch) = batches.next().await {
        batch?;
    }
    Ok(())
}

/// Whether the database knows a declaration that concerns a collection.
async fn is_declared(pipeline: &Pipeline, into: &str) -> Result<bool> {
    let edges = pipeline.core.odm().stored_edges();
    let concerned = doc! { "$or": [{ "from": into }, { "holder": into }] };
    let found = edges.find_one(concerned).projection(doc! { "_id": 1 }).await;
    Ok(found.map_err(|error| pipeline.core.error(error))?.is_some())
}

/// Why the results may not be stored in a collection, by what this program knows.
fn refused(pipeline: &Pipeline, into: &str, operator: &str) -> Option<String> {
    if pipeline.core.session().is_some() {
        return Some(format!(
            "MongoDB takes no `{operator}` in a transaction: run the pipeline before the transaction or after it"
        ));
    }
    let graph = pipeline.core.odm().graph();
    let why = match graph.model(into) {
        Some(model) if operator == "$out" => format!("it would replace all documents of `{}`", model.name),
        // A model need not be registered to be read.
        None if operator == "$out" && into == pipeline.core.meta().collection => {
            "it would replace all documents that it reads".to_owned()
        }
        Some(model) if pipeline.core.odm().scope_with_deleted(model).is_some() => {
            "its documents belong to the scope of this handle, and the results would not".to_owned()
        }
        _ => rule_that_concerns(graph, into)?,
    };
    Some(sentence(operator, into, &why))
}

fn sentence(operator: &str, into: &str, why: &str) -> String {
    format!(
        "`{operator}` into `{into}` is refused, since {why}: store the results in a collection of their own, or read them and write \
         them by the library"
    )
}
