//! How the server executes a query: by an index, or by reading the whole collection.

use crate::model::stored::Row;
use crate::query::join::{Asked, Join};
use crate::query::untyped::Query;
use crate::store::action::Action;
use crate::store::core::{Core, act};
use crate::{Document, Find, Result};
use mongodb::bson::{self, Bson, doc};
use mongodb::options::{AggregateOptions, Hint};

/// The server's work for a query or a pipeline: `explain` with `executionStats`, returned by [`Find::explain`] and
/// [`Aggregate::explain`](crate::query::Aggregate::explain).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let explain = people.find(|p| p.email.eq("kate@example.com")).explain().await?;
/// assert_eq!(explain.indexes, ["email_1"]);
/// assert!(!explain.is_collection_scan());
/// assert!(explain.documents_examined <= 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explain {
    /// The stages of the winning plan, the last first (`LIMIT`, `FETCH`, `IXSCAN`), before them those of a pipeline (`$group`); on a
    /// sharded cluster those of all shards.
    pub stages: Vec<String>,
    /// The indexes that were used.
    pub indexes: Vec<String>,
    /// How many documents were given.
    pub returned: u64,
    /// How many entries of indexes were read.
    pub keys_examined: u64,
    /// How many documents were read.
    pub documents_examined: u64,
    /// How the server would find what is joined to the documents, for each reference and each list of children.
    pub joins: Vec<JoinExplain>,
    /// The server's whole reply.
    pub raw: bson::Document,
}

/// How the server would execute one query of a join.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
/// let explain = posts.find_all().include(|p| (p.author, p.children::<Comment>())).explain().await?;
/// for join in &explain.joins {
///     assert!(!join.is_collection_scan(), "{} has no index on {}", join.collection, join.field);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JoinExplain {
    /// The collection that is asked.
    pub collection: String,
    /// The field by which its documents are found.
    pub field: String,
    /// The stages of the winning plan, the last first.
    pub stages: Vec<String>,
    /// The indexes that would be used.
    pub indexes: Vec<String>,
}

impl JoinExplain {
    /// Whether the whole collection would be read.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let explain = posts.find_all().include(|p| p.author).explain().await?;
    /// assert!(!explain.joins[0].is_collection_scan()); // by `_id`
    /// # Ok(()) }
    /// ```
    pub fn is_collection_scan(&self) -> bool {
        self.stages.iter().any(|stage| stage == "COLLSCAN")
    }
}

impl Explain {
    /// Whether the whole collection was read.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let explain = people.find(|p| p.nickname.eq("Katie")).explain().await?;
    /// assert!(explain.is_collection_scan()); // no index on `nickname`
    /// # Ok(()) }
    /// ```
    pub fn is_collection_scan(&self) -> bool {
        self.stages.iter().any(|stage| stage == "COLLSCAN")
    }

    /// Whether documents were sorted in memory, since no index has the order.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let explain = people.find_all().sort(|p| p.age.desc()).explain().await?;
    /// assert!(explain.sorts_in_memory()); // no index on `age`
    /// # Ok(()) }
    /// ```
    pub fn sorts_in_memory(&self) -> bool {
        self.stages
            .iter()
            .any(|stage| stage == "SORT" || stage == "$sort")
    }

    pub(crate) fn of(raw: bson::Document) -> Explain {
        let mut explain = Explain {
            stages: Vec::new(),
            indexes: Vec::new(),
            returned: 0,
            keys_examined: 0,
            documents_examined: 0,
            joins: Vec::new(),
            raw: bson::Document::new(),
        };
        explain.read(&raw);
        explain.raw = raw;
        explain
    }

    /// Adds what a reply says: that of a query, of a pipeline as a list of stages, and of each shard.
    fn read(&mut self, reply: &bson::Document) {
        let shards = reply.get_document("shards").into_iter().flatten();
        for (_, shard) in shards {
            if let Bson::Document(shard) = shard {
                self.read(shard);
            }
        }
        let mut stages = reply.get_array("stages").into_iter().flatten();
        let mut given = None;
        let first = stages.next().and_then(Bson::as_document);
        let mut behind = Vec::new();
        for stage in stages.filter_map(Bson::as_document) {
            behind.extend(stage.keys().find(|key| key.starts_with('$')).cloned());
            given = number(stage, "nReturned").or(given);
        }
        behind.reverse();
        self.stages.extend(behind);
        if let Some(first) = first {
            match first.get_document("$cursor") {
                Ok(cursor) => self.read(cursor),
                Err(_) => self
                    .stages
                    .extend(first.keys().find(|key| key.starts_with('$')).cloned()),
            }
        }
        if let Ok(plan) = reply
            .get_document("queryPlanner")
            .and_then(|planner| planner.get_document("winningPlan"))
        {
            self.walk(plan);
        }
        if let Ok(stats) = reply.get_document("executionStats") {
            let number = |name| number(stats, name).unwrap_or(0);
            self.returned += number("nReturned");
            self.keys_examined += number("totalKeysExamined");
            self.documents_examined += number("totalDocsExamined");
        }
        // The last stage says what it gives, and its query what it has read.
        self.returned = given.unwrap_or(self.returned);
    }

    fn walk(&mut self, plan: &bson::Document) {
        // Since 5.1 the plan of the slot-based engine holds the classic one in `queryPlan`.
        if let Ok(inner) = plan.get_document("queryPlan") {
            return self.walk(inner);
        }
        if let Ok(stage) = plan.get_str("stage") {
            self.stages.push(stage.to_owned());
        }
        if let Ok(index) = plan.get_str("indexName")
            && !self.indexes.iter().any(|known| known == index)
        {
            self.indexes.push(index.to_owned());
        }
        for name in [
            "inputStage",
            "thenStage",
            "elseStage",
            "outerStage",
            "innerStage",
            "winningPlan",
        ] {
            if let Ok(inner) = plan.get_document(name) {
                self.walk(inner);
            }
        }
        for name in ["inputStages", "shards"] {
            if let Ok(list) = plan.get_array(name) {
                for inner in list {
                    if let Bson::Document(inner) = inner {
                        self.walk(inner);
                    }
                }
            }
        }
    }
}

fn number(of: &bson::Document, name: &str) -> Option<u64> {
    Some(match of.get(name)? {
        Bson::Int32(n) => u64::try_from(*n).unwrap_or(0),
        Bson::Int64(n) => u64::try_from(*n).unwrap_or(0),
        Bson::Double(n) => *n as u64,
        _ => return None,
    })
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// Executes the query without returning its documents, and reports how the server did it.
    ///
    /// # Errors
    /// The server refuses `explain` within a transaction.
    ///
    /// # Cost
    /// One round trip, and on the server the cost of the query; one more for each query of its joins, which are planned but not
    /// executed.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let explain = people.find(|p| p.email.starts_with("kate")).explain().await?;
    /// println!("{} index entries, {} documents", explain.keys_examined, explain.documents_examined);
    /// # Ok(()) }
    /// ```
    pub fn explain(self) -> Action<Explain> {
        let (query, join) = self.into_query();
        let mut joins = Vec::new();
        join.queries(&mut joins);
        explain(query, joins)
    }
}

fn explain(mut query: Query, joins: Vec<Asked>) -> Action<Explain> {
    let collection = query.meta().collection;
    let explain = async move {
        if query.options.limit == Some(0) {
            // The server would take it for no limit; nothing is what is found, and nothing is asked.
            return Ok(Explain::of(doc! {}));
        }
        let filter = query.prepare().await?;
        let core = query.core;
        let mut find = doc! { "find": core.meta().collection, "filter": filter };
        let options = query.options.into_inner().unwrap_or_default();
        if let Some(sort) = options.sort {
            find.insert("sort", sort);
        }
        if let Some(projection) = options.projection {
            find.insert("projection", projection);
        }
        if let Some(skip) = options.skip {
            find.insert("skip", i64::try_from(skip).unwrap_or(i64::MAX));
        }
        if let Some(limit) = options.limit {
            find.insert("limit", limit);
        }
        if let Some(collation) = options.collation {
            find.insert(
                "collation",
                crate::model::encode::option("collation", &collation)?,
            );
        }
        if let Some(Hint::Name(hint)) = options.hint {
            find.insert("hint", hint);
        }
        let command = doc! { "explain": find, "verbosity": "executionStats" };
        let trace = core.trace("explain");
        trace
            .run(async {
                let database = core.odm().database().clone();
                let reply =
                    act!(&core, command, database.run_command(command)).map_err(|error| core.error(error))?;
                let mut explain = Explain::of(reply);
                trace.done(1 + joins.len() as u64, 0);
                for join in joins {
                    let filter = core.odm().in_scope(join.of, join.filter, false)?;
                    let find = doc! { "find": join.of.collection, "filter": filter, "sort": join.sort };
                    let command = doc! { "explain": find, "verbosity": "queryPlanner" };
                    let database = core.odm().database().clone();
                    let reply = act!(&core, command, database.run_command(command))
                        .map_err(|error| core.error(error))?;
                    let planned = Explain::of(reply);
                    explain.joins.push(JoinExplain {
                        collection: join.of.collection.to_owned(),
                        field: join.field,
                        stages: planned.stages,
                        indexes: planned.indexes,
                    });
                }
                Ok(explain)
            })
            .await
    };
    Action::new(collection, "explain", Box::new(explain))
}

/// Asks the server how it executes a pipeline.
pub(crate) async fn explain_pipeline(
    core: Core,
    stages: Vec<bson::Document>,
    options: AggregateOptions,
) -> Result<Explain> {
    let mut aggregate = doc! { "aggregate": core.meta().collection, "pipeline": stages, "cursor": {} };
    if let Some(collation) = options.collation {
        aggregate.insert(
            "collation",
            crate::model::encode::option("collation", &collation)?,
        );
    }
    if let Some(Hint::Name(hint)) = options.hint {
        aggregate.insert("hint", hint);
    }
    if let Some(on_disk) = options.allow_disk_use {
        aggregate.insert("allowDiskUse", on_disk);
    }
    let command = doc! { "explain": aggregate, "verbosity": "executionStats" };
    let trace = core.trace("explain");
    trace
        .run(async {
            let database = core.odm().database().clone();
            let reply =
                act!(&core, command, database.run_command(command)).map_err(|error| core.error(error))?;
            trace.done(1, 0);
            Ok(Explain::of(reply))
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_of_a_pipeline_stand_before_its_query() {
        let explain = Explain::of(doc! { "stages": [
            { "$cursor": {
                "queryPlanner": { "winningPlan": { "stage": "FETCH", "inputStage": { "stage": "IXSCAN", "indexName": "at_1" } } },
                "executionStats": { "nReturned": 40, "totalKeysExamined": 40, "totalDocsExamined": 40 },
            } },
            { "$group": { "_id": "$at" }, "nReturned": 7_i64 },
            { "$sort": { "sortKey": { "_id": 1 } }, "nReturned": 3_i64 },
        ] });
        assert_eq!(explain.stages, ["$sort", "$group", "FETCH", "IXSCAN"]);
        assert_eq!(explain.indexes, ["at_1"]);
        assert_eq!((explain.returned, explain.documents_examined), (3, 40));
        assert!(!explain.is_collection_scan() && explain.sorts_in_memory());
    }

    #[test]
    fn stages_are_found_wherever_they_stand() {
        let explain = Explain::of(doc! {
            "queryPlanner": { "winningPlan": { "stage": "SHARD_MERGE", "shards": [
                { "shardName": "a", "winningPlan": { "queryPlan": { "stage": "FETCH", "inputStage": { "stage": "IXSCAN", "indexName": "h_t" } } } },
                { "shardName": "b", "winningPlan": { "stage": "COLLSCAN" } },
            ] } },
            "executionStats": { "nReturned": 5, "totalKeysExamined": 6_i64, "totalDocsExamined": 7.0 },
        });
        assert_eq!(explain.stages, ["SHARD_MERGE", "FETCH", "IXSCAN", "COLLSCAN"]);
        assert_eq!(explain.indexes, ["h_t"]);
        assert!(explain.is_collection_scan());
        assert_eq!(
            (
                explain.returned,
                explain.keys_examined,
                explain.documents_examined
            ),
            (5, 6, 7)
        );
    }

    #[test]
    fn an_empty_reply_says_nothing() {
        assert!(!Explain::of(doc! {}).is_collection_scan());
    }
}
