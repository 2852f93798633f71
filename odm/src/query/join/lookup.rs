//! The same join executed by the server.

use super::children::{each_of, warn_of_scan};
use super::stages::{no_near, read};
use super::{Asked, Join, Stages, Work};
use crate::model::stored::Row;
use crate::query::filter::has_near;
use crate::query::untyped::Query;
use crate::store::action::Action;
use crate::store::batches::Take;
use crate::{Document, Error, Find, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{RawDocument, doc};
use mongodb::options::AggregateOptions;

/// A query whose joins the server executes, by `$lookup`: [`Find::lookup`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
/// let all: Vec<(Post, User)> = posts.find_all().include(|p| p.author).lookup().all().await?;
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until its `all` or `one` is awaited"]
pub struct Lookup<T, Out, J> {
    find: Find<T, Out, J>,
}

impl<T: Document, Out, J> std::fmt::Debug for Lookup<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup").field("find", &self.find).finish()
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// Lets the server execute the joins, in one pipeline with `$lookup`, with the same result.
    ///
    /// One round trip instead of one for each hop; but the server looks up the targets document by document, and sends one
    /// that several documents refer to several times. The chapter on joins of the guide has measurements.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let all: Vec<(Post, User)> = posts.find_all().include(|p| p.author).lookup().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn lookup(self) -> Lookup<T, Out, J> {
        Lookup { find: self }
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Lookup<T, Out, J> {
    /// All of them. A collation of the query is one of the whole pipeline: keys that are strings are compared by it, too.
    ///
    /// # Errors
    /// As [`Find::all`]; [`Error::Unsupported`] before MongoDB 5.0 (5.1 on a sharded cluster) for children and nested joins;
    /// [`Error::Query`] for a reference to documents of several collections, and for `near` in a condition, which MongoDB takes
    /// in no pipeline.
    ///
    /// # Cost
    /// One round trip, and one for every further batch.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let all: Vec<(Post, User)> = posts.find_all().include(|p| p.author).lookup().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn all(self) -> Action<Vec<J::Row<Out>>> {
        Action::new(T::META.collection, "lookup", Box::new(self.rows()))
    }

    async fn rows(self) -> Result<Vec<J::Row<Out>>> {
        let (query, join) = self.find.into_query();
        let from = query.source();
        let mut joins = Stages::default();
        let joins = join.stages(&mut joins).map(|()| joins);
        let mut asked = Vec::new();
        join.queries(&mut asked);
        let mut work = Work::of_lookup(&join, query.is_projected());
        let mut items = Vec::new();
        let mut take = |raw: &RawDocument| {
            items.push(read(T::META, raw)?);
            work.parent(raw)
        };
        send(query, joins, asked, &mut take).await?;
        work.run(&from).await?;
        work.rows(items)
    }

    /// The first, if there is one.
    ///
    /// # Errors
    /// As [`all`](Lookup::all).
    ///
    /// # Cost
    /// One round trip.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let first: Option<(Post, User)> = posts.find_all().include(|p| p.author).lookup().one().await?;
    /// # Ok(()) }
    /// ```
    pub fn one(mut self) -> Action<Option<J::Row<Out>>> {
        if self.find.query.options.limit != Some(0) {
            self.find.query.options.limit = Some(1);
        }
        let one = async move { Ok(self.rows().await?.pop()) };
        Action::new(T::META.collection, "lookup", Box::new(one))
    }
}

/// Sends a query with its joins as one pipeline, and hands what it gives to `take`.
fn send(
    mut query: Query,
    joins: Result<Stages>,
    asked: Vec<Asked>,
    take: Take<'_>,
) -> BoxFuture<'_, Result<()>> {
    async move {
        if query.options.limit == Some(0) {
            return Ok(());
        }
        let filter = query.prepare().await?;
        if has_near(&filter) {
            return Err(no_near(query.meta().collection));
        }
        let mut stages = vec![doc! { "$match": filter }];
        let options = &query.options;
        if let Some(sort) = &options.sort {
            stages.push(doc! { "$sort": sort });
        }
        if let Some(skip) = options.skip {
            stages.push(doc! { "$skip": i64::try_from(skip).unwrap_or(i64::MAX) });
        }
        if let Some(limit) = options.limit {
            stages.push(doc! { "$limit": limit });
        }
        if let Some(projection) = &options.projection {
            stages.push(doc! { "$project": projection });
        }
        let joins = joins?;
        if joins.has_pipelines {
            let server = query.core.odm().server().await?;
            if !server.has_lookup_with_pipeline() {
                return Err(Error::Unsupported {
                    operation: "`lookup` of children or of nested joins",
                    needs: "MongoDB 5.0, or 5.1 on a sharded cluster",
                    is: server.to_string(),
                });
            }
        }
        stages.extend(joins.list);
        for asked in asked {
            warn_of_scan(asked.of, query.core.odm(), &asked.field);
        }
        let mut of_pipeline = AggregateOptions::default();
        of_pipeline.collation = options.collation.clone();
        of_pipeline.hint = options.hint.clone();
        of_pipeline.allow_disk_use = options.allow_disk_use;
        each_of(&query.core, "lookup", stages, of_pipeline, take).await
    }
    .boxed()
}
