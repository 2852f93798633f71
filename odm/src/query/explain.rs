//! How the server executes a query: by an index, or by reading the whole collection.

use crate::query::join::{Asked, Join};
use crate::query::untyped::Query;
use crate::store::action::Action;
use crate::store::core::act;
use crate::{Document, Find};
use mongodb::bson::{self, Bson, doc};
use serde::de::DeserializeOwned;

/// The server's work for a query: `explain` with `executionStats`, returned by [`Find::explain`].
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// The stages of the winning plan, the last first (`LIMIT`, `FETCH`, `IXSCAN`); on a sharded cluster those of all
    /// shards.
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
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let explain = people.find_all().sort(|p| p.age.desc()).explain().await?;
    /// assert!(explain.sorts_in_memory()); // no index on `age`
    /// # Ok(()) }
    /// ```
    pub fn sorts_in_memory(&self) -> bool {
        self.stages.iter().any(|stage| stage == "SORT")
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
        if let Ok(plan) = raw
            .get_document("queryPlanner")
            .and_then(|planner| planner.get_document("winningPlan"))
        {
            explain.walk(plan);
        }
        if let Ok(stats) = raw.get_document("executionStats") {
            let number = |name: &str| match stats.get(name) {
                Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
                Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
                Some(Bson::Double(n)) => *n as u64,
                _ => 0,
            };
            explain.returned = number("nReturned");
            explain.keys_examined = number("totalKeysExamined");
            explain.documents_examined = number("totalDocsExamined");
        }
        explain.raw = raw;
        explain
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

impl<T: Document, Out: DeserializeOwned + Send + 'static, J: Join<T>> Find<T, Out, J> {
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
        let filter = query.prepare()?;
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
            find.insert("collation", crate::model::encode::id(&collation)?);
        }
        if let Some(mongodb::options::Hint::Name(hint)) = options.hint {
            find.insert("hint", hint);
        }
        let command = doc! { "explain": find, "verbosity": "executionStats" };
        let trace = core.trace("explain");
        trace
            .run(async {
                let action = core.odm().database().run_command(command);
                let reply = act!(&core, command, action).map_err(|error| core.error(error))?;
                let mut explain = Explain::of(reply);
                trace.done(1 + joins.len() as u64, 0);
                for join in joins {
                    let find = doc! { "find": join.of.collection, "filter": join.filter, "sort": join.sort };
                    let command = doc! { "explain": find, "verbosity": "queryPlanner" };
                    let action = core.odm().database().run_command(command);
                    let reply = act!(&core, command, action).map_err(|error| core.error(error))?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
