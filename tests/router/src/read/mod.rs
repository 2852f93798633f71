//! Reads of sharded collections: to one shard as they are, over several shards merged.

mod aggregate;
mod explain;
mod find;
mod merge;
mod pipeline;
mod scratch;

pub(crate) use aggregate::names_sharded;
pub(crate) use explain::explains_sharded;

use crate::cursor::batch_size;
use crate::key::has_operators;
use crate::order::{Ordered, compare};
use crate::reply::{Answer, NOT_IMPLEMENTED, NOT_IN_TRANSACTION, count, documents, text};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::{Cx, Kind};
use bson::{Bson, Document, doc};
use std::collections::BTreeSet;

/// Executes a read.
pub(crate) async fn execute(cx: &mut Cx<'_>, request: &Request, command: Document) -> Answer {
    if request.name == "explain" {
        return explain::execute(cx, command).await;
    }
    let namespace = request.namespace().unwrap_or_default();
    if let Some((of, pipeline)) = cx.shared.sharded_view(&namespace) {
        return in_view(cx, &of, pipeline, command).await;
    }
    let reply = match request.name.as_str() {
        "find" => find::execute(cx, &namespace, command.clone()).await?,
        "count" => count_documents(cx, &namespace, command.clone()).await?,
        "distinct" => distinct(cx, &namespace, command.clone()).await?,
        _ => aggregate::execute(cx, &namespace, command.clone()).await?,
    };
    Ok(cx.shared.cursors.of_late(request, &command, reply))
}

/// Whether an operation has another order of texts than that of their bytes.
pub(crate) fn has_collation(command: &Document, default: Option<&Document>) -> bool {
    let collation = command.get_document("collation").ok().or(default);
    collation.is_some_and(|collation| !collation.is_empty() && text(collation, "locale") != "simple")
}

/// The filter with the documents left out that a moved chunk has left behind on a shard.
fn without_orphans(shared: &Shared, namespace: &str, shard: usize, filter: &Document) -> Document {
    let mut catalog = shared.catalog();
    let orphans = catalog
        .contents(namespace)
        .map(|contents| contents.orphans[shard].clone());
    match orphans.filter(|orphans| !orphans.is_empty()) {
        Some(orphans) => doc! { "$and": [filter.clone(), { "_id": { "$nin": orphans } }] },
        None => filter.clone(),
    }
}

/// The condition of a filter that several shards can't answer together.
fn unmergeable(filter: &Document) -> Option<&str> {
    filter
        .iter()
        .find_map(|(name, condition)| match (name.as_str(), condition) {
            ("$text", _) => Some("$text"),
            ("$and" | "$or" | "$nor", Bson::Array(all)) => {
                all.iter().filter_map(Bson::as_document).find_map(unmergeable)
            }
            (_, Bson::Document(operators)) if has_operators(operators) => ["$near", "$nearSphere"]
                .into_iter()
                .find(|name| operators.contains_key(*name)),
            _ => None,
        })
}

/// Refuses by its name what the router can't merge.
fn refuse<T>(what: &str, namespace: &str) -> Answer<T> {
    NOT_IMPLEMENTED.refuse(format!(
        "the router does not merge {what} of several shards: {namespace}"
    ))
}

/// Counts the documents of each shard. Without a condition or a hint, a shard gives the number that it keeps, in which those are that
/// a moved chunk has left behind.
async fn count_documents(cx: &mut Cx<'_>, namespace: &str, mut command: Document) -> Answer {
    if cx.is_in_transaction() {
        return cx.send(0, Kind::Read, command).await;
    }
    let Some(sharded) = cx.shared.sharded(namespace) else {
        return cx.send(0, Kind::Read, command).await;
    };
    let filter = command.get_document("query").cloned().unwrap_or_default();
    let has_collation = has_collation(&command, sharded.default_collation.as_ref());
    let shards = cx.shards(namespace, &sharded, &filter, has_collation, "count");
    let (skip, limit) = (count(&command, "skip"), count(&command, "limit").abs());
    command.remove("skip");
    if limit > 0 {
        command.insert("limit", limit + skip);
    }
    let (mut all, mut of_shards) = (0, Document::new());
    let is_kept = filter.is_empty() && !command.contains_key("hint");
    for shard in shards {
        let mut command = command.clone();
        if !is_kept {
            command.insert("query", without_orphans(cx.shared, namespace, shard, &filter));
        }
        let reply = cx.send(shard, Kind::Read, command).await?;
        let n = count(&reply, "n");
        all += n;
        of_shards.insert(crate::catalog::SHARDS[shard], n);
    }
    let most = if limit > 0 { limit } else { i64::MAX };
    let n = (all - skip).clamp(0, most);
    let n = i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32);
    Ok(doc! { "shards": of_shards, "n": n, "ok": 1.0 })
}

/// The distinct values of a field over the shards, in their order.
async fn distinct(cx: &mut Cx<'_>, namespace: &str, command: Document) -> Answer {
    if cx.is_in_transaction() {
        return NOT_IN_TRANSACTION.refuse(
            "Cannot run 'distinct' on a sharded collection in a multi-document transaction. Please see \
             http://dochub.mongodb.org/core/transaction-distinct for a recommended alternative.",
        );
    }
    let Some(sharded) = cx.shared.sharded(namespace) else {
        return cx.send(0, Kind::Read, command).await;
    };
    let filter = command.get_document("query").cloned().unwrap_or_default();
    let has_collation = has_collation(&command, sharded.default_collation.as_ref());
    let shards = cx.shards(namespace, &sharded, &filter, has_collation, "distinct");
    if shards.len() > 1 && has_collation {
        let sources: Vec<_> = shards
            .iter()
            .map(|shard| (*shard, vec![doc! { "$match": &filter }]))
            .collect();
        let before = cx.begin_own();
        let outcome = distinct_in_scratch(cx, namespace, sources, command).await;
        cx.end_own(before, false).await?;
        return outcome;
    }
    let mut values = BTreeSet::new();
    for shard in shards {
        let reply = cx.send(shard, Kind::Read, command.clone()).await?;
        let of_shard = reply.get_array("values").cloned().unwrap_or_default();
        values.extend(of_shard.into_iter().map(|value| Ordered(vec![value])));
    }
    let mut values: Vec<Bson> = values.into_iter().filter_map(|mut value| value.0.pop()).collect();
    values.sort_by(compare);
    Ok(doc! { "values": values, "ok": 1.0 })
}

async fn distinct_in_scratch(
    cx: &mut Cx<'_>,
    namespace: &str,
    sources: Vec<(usize, Vec<Document>)>,
    mut command: Document,
) -> Answer {
    let collation = command.get_document("collation").ok().cloned();
    let scratch = scratch::copy_under(cx, namespace, sources, false, collation.as_ref()).await?;
    command.insert("distinct", scratch);
    command.remove("hint");
    cx.send(0, Kind::Read, command).await
}

/// Reads a view of a sharded collection, as a pipeline of the collection.
async fn in_view(cx: &mut Cx<'_>, of: &str, mut pipeline: Vec<Document>, command: Document) -> Answer {
    let collection = crate::catalog::collection_of(of);
    let kind = command.keys().next().cloned().unwrap_or_default();
    let name = command.get_str(&kind).unwrap_or_default().to_owned();
    let namespace = format!("{}.{name}", cx.database);
    let mut add =
        |stage: &str, value: Option<Bson>| pipeline.extend(value.map(|value| doc! { stage: value }));
    match kind.as_str() {
        "find" => {
            let is_projected = command
                .get_document("projection")
                .is_ok_and(|projection| !projection.is_empty());
            add("$match", command.get("filter").cloned());
            add("$sort", command.get("sort").cloned());
            add("$skip", command.get("skip").cloned());
            add("$limit", command.get("limit").cloned());
            add(
                "$project",
                command.get("projection").cloned().filter(|_| is_projected),
            );
        }
        "count" => {
            add("$match", command.get("query").cloned());
            add("$skip", command.get("skip").cloned());
            add("$limit", command.get("limit").cloned());
            add("$count", Some("n".into()));
        }
        "distinct" => {
            let key = command.get_str("key").unwrap_or_default().to_owned();
            add("$match", command.get("query").cloned());
            add("$unwind", Some(format!("${key}").into()));
            add("$group", Some(doc! { "_id": format!("${key}") }.into()));
        }
        _ => pipeline.extend(documents(&command, "pipeline")),
    }
    let mut aggregate =
        doc! { "aggregate": collection, "pipeline": pipeline, "cursor": { "batchSize": i32::MAX } };
    for option in ["collation", "maxTimeMS", "let", "comment", "$readPreference"] {
        aggregate.extend(
            command
                .get(option)
                .map(|value| (option.to_owned(), value.clone())),
        );
    }
    let reply = aggregate::execute(cx, of, aggregate).await?;
    let found = documents(
        reply.get_document("cursor").unwrap_or(&Document::new()),
        "firstBatch",
    );
    Ok(match kind.as_str() {
        "count" => doc! { "n": found.first().map_or(0, |counted| count(counted, "n") as i32), "ok": 1.0 },
        "distinct" => {
            let values = found.into_iter().filter_map(|mut group| group.remove("_id"));
            doc! { "values": Vec::from_iter(values), "ok": 1.0 }
        }
        "find" => cx
            .shared
            .cursors
            .reply(&namespace, found, batch_size(&command), false),
        _ => {
            let options = command.get_document("cursor").cloned().unwrap_or_default();
            cx.shared
                .cursors
                .reply(&namespace, found, batch_size(&options), false)
        }
    })
}
