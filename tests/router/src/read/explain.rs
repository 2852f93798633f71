//! How the shards execute a command.

use super::has_collation;
use crate::catalog::SHARDS;
use crate::reply::{Answer, count, documents};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::{Cx, Kind};
use bson::{Bson, Document, doc};

/// Whether a command asks how one of a sharded collection is executed.
pub(crate) fn explains_sharded(shared: &Shared, request: &Request) -> bool {
    let command = request.command();
    let explained = command.get_document("explain").ok();
    explained.is_some_and(|explained| {
        let collection = explained
            .values()
            .next()
            .and_then(Bson::as_str)
            .unwrap_or_default();
        shared
            .sharded(&format!("{}.{collection}", request.database))
            .is_some()
    })
}

/// The filter of a command.
fn filter(explained: &Document) -> Document {
    let of = |list: &str, name: &str| {
        documents(explained, list)
            .first()
            .and_then(|one| one.get_document(name).ok().cloned())
    };
    let found = match explained.keys().next().map(String::as_str) {
        Some("find") => explained.get_document("filter").ok().cloned(),
        Some("aggregate") => of("pipeline", "$match"),
        Some("update") => of("updates", "q"),
        Some("delete") => of("deletes", "q"),
        _ => explained.get_document("query").ok().cloned(),
    };
    found.unwrap_or_default()
}

/// Explains a command on the shards that it goes to.
pub(super) async fn execute(cx: &mut Cx<'_>, command: Document) -> Answer {
    let explained = command.get_document("explain").cloned().unwrap_or_default();
    let kind = explained.keys().next().cloned().unwrap_or_default();
    let namespace = format!("{}.{}", cx.database, explained.get_str(&kind).unwrap_or_default());
    let Some(sharded) = cx.shared.sharded(&namespace) else {
        return cx.send(0, Kind::Other, command).await;
    };
    if kind == "update" {
        for update in documents(&explained, "updates") {
            crate::write::check_update(cx, &namespace, &sharded, &update)?;
        }
    }
    let has_collation = has_collation(&explained, sharded.default_collation.as_ref());
    let shards = crate::catalog::marked(sharded.shards_of(&filter(&explained), has_collation, cx.since()));
    let stage = if shards.len() == 1 {
        "SINGLE_SHARD"
    } else {
        "SHARD_MERGE"
    };
    let (mut plans, mut whole, mut stats) = (Vec::new(), Document::new(), Document::new());
    for shard in shards {
        let mut reply = cx.send(shard, Kind::Other, command.clone()).await?;
        ["ok", "operationTime", "$clusterTime"]
            .iter()
            .for_each(|name| drop(reply.remove(name)));
        let mut plan = doc! { "shardName": SHARDS[shard] };
        plan.extend(reply.get_document("queryPlanner").cloned().unwrap_or_default());
        plans.push(plan);
        if let Ok(of_shard) = reply.get_document("executionStats") {
            for name in [
                "nReturned",
                "executionTimeMillis",
                "totalKeysExamined",
                "totalDocsExamined",
            ] {
                stats.insert(name, count(&stats, name) + count(of_shard, name));
            }
        }
        whole.insert(SHARDS[shard], reply);
    }
    if kind == "aggregate" {
        return Ok(doc! { "splitPipeline": Bson::Null, "shards": whole, "command": explained, "ok": 1.0 });
    }
    let mut reply = doc! {
        "queryPlanner": { "mongosPlannerVersion": 1, "winningPlan": { "stage": stage, "shards": plans } },
    };
    if !stats.is_empty() {
        reply.insert("executionStats", stats);
    }
    reply.insert("command", explained);
    reply.insert("ok", 1.0);
    Ok(reply)
}
