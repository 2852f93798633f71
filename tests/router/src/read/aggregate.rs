//! Pipelines: to one shard as they are; over several shards stages that treat each document alone run there, and the rest on a copy.

use super::pipeline::{self, Joined};
use super::{has_collation, refuse, scratch, unmergeable, without_orphans};
use crate::catalog::{SHARDS, Sharded, collection_of};
use crate::cursor::batch_size;
use crate::reply::{
    Answer, CANNOT_BE_SHARDED, Failure, MERGE_FIELD, NOT_IN_TRANSACTION, SHARD_KEY_NOT_FOUND, documents,
    renamed,
};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::{Cx, Kind};
use bson::{Bson, Document, doc};
use std::collections::BTreeMap;

/// Whether a pipeline joins a sharded collection, or writes into one.
pub(crate) fn names_sharded(shared: &Shared, request: &Request) -> bool {
    if shared.catalog().databases().is_empty() {
        return false;
    }
    let stages = documents(&request.command(), "pipeline");
    let is_sharded = |collection: &str| {
        shared
            .sharded(&format!("{}.{collection}", request.database))
            .is_some()
    };
    let target = stages.last().and_then(|last| Target::of(last, &request.database));
    target.is_some_and(|target| shared.sharded(&target.namespace).is_some())
        || pipeline::joined(&stages)
            .iter()
            .any(|joined| is_sharded(&joined.collection))
}

/// Where the last stage writes to.
struct Target {
    stage: &'static str,
    namespace: String,
    /// The fields by which `$merge` finds documents, where it names them.
    on: Option<Vec<String>>,
}

impl Target {
    fn of(stage: &Document, database: &str) -> Option<Target> {
        let (stage, body) = match (stage.get("$out"), stage.get("$merge")) {
            (Some(out), _) => ("$out", out),
            (None, Some(Bson::Document(merge))) => ("$merge", merge.get("into")?),
            (None, Some(merge)) => ("$merge", merge),
            (None, None) => return None,
        };
        let namespace = match body {
            Bson::String(collection) => format!("{database}.{collection}"),
            Bson::Document(named) => {
                let database = named.get_str("db").unwrap_or(database);
                format!("{database}.{}", named.get_str("coll").ok()?)
            }
            _ => return None,
        };
        Some(Target {
            stage,
            namespace,
            on: None,
        })
    }
}

/// Executes a pipeline that concerns sharded collections.
pub(super) async fn execute(cx: &mut Cx<'_>, namespace: &str, command: Document) -> Answer {
    let mut stages = documents(&command, "pipeline");
    let database = cx.database.clone();
    let mut target = stages.last().and_then(|last| Target::of(last, &database));
    if let Some(target) = &target
        && cx.is_in_transaction()
    {
        return NOT_IN_TRANSACTION.refuse(format!("{} cannot be used in a transaction", target.stage));
    }
    refuse_joins(cx, &pipeline::joined(&stages), target.as_ref())?;
    let last = if target.is_some() { stages.pop() } else { None };
    let read = Pipeline {
        namespace,
        stages,
        command: &command,
    };
    let Some(last) = last else {
        return read.execute(cx).await;
    };
    if let (Some(target), Some(Ok(merge))) = (
        &mut target,
        last.get("$merge").map(|_| last.get_document("$merge")),
    ) {
        target.on = match merge.get("on") {
            Some(Bson::String(field)) => Some(vec![field.clone()]),
            Some(Bson::Array(fields)) => Some(
                fields
                    .iter()
                    .filter_map(Bson::as_str)
                    .map(str::to_owned)
                    .collect(),
            ),
            _ => None,
        };
    }
    let has_none = read.needs_none(&pipeline::joined(&read.stages));
    let before = if has_none { None } else { cx.begin_own() };
    let all = read.all(cx).await;
    cx.end_own(before, false).await?;
    let all = all?;
    if let Some(target) = target {
        write(cx, collection_of(namespace), &target, last, all).await?;
    }
    Ok(cx.shared.cursors.reply(namespace, Vec::new(), None, false))
}

/// Refuses what servers before MongoDB 5.1 can't join, and `$out` into a sharded collection.
fn refuse_joins(cx: &Cx<'_>, joined: &[Joined], target: Option<&Target>) -> Answer<()> {
    let is_sharded = |namespace: &str| cx.shared.sharded(namespace).is_some();
    for joined in joined.iter().filter(|joined| joined.stage != "$unionWith") {
        let namespace = format!("{}.{}", cx.database, joined.collection);
        if !cx.shared.joins_sharded() && is_sharded(&namespace) {
            return CANNOT_BE_SHARDED.refuse(format!("{namespace} cannot be sharded"));
        }
    }
    match target {
        Some(target) if target.stage == "$out" && is_sharded(&target.namespace) => {
            CANNOT_BE_SHARDED.refuse(format!("{} cannot be sharded", target.namespace))
        }
        _ => Ok(()),
    }
}

/// A pipeline that only reads.
struct Pipeline<'p> {
    namespace: &'p str,
    stages: Vec<Document>,
    command: &'p Document,
}

impl Pipeline<'_> {
    fn shards(&self, cx: &mut Cx<'_>, sharded: Option<&Sharded>) -> Vec<usize> {
        let Some(sharded) = sharded else { return vec![0] };
        let has_collation = has_collation(self.command, sharded.default_collation.as_ref());
        let (filter, _) = pipeline::leading_match(&self.stages);
        cx.shards(self.namespace, sharded, &filter, has_collation, "aggregate")
    }

    /// The command with other stages, and all that it has beside them.
    fn command(&self, collection: &str, stages: Vec<Document>) -> Document {
        let mut command = self.command.clone();
        command.insert("aggregate", collection);
        command.insert("pipeline", stages);
        command
    }

    async fn execute(&self, cx: &mut Cx<'_>) -> Answer {
        let sharded = cx.shared.sharded(self.namespace);
        let joined = pipeline::joined(&self.stages);
        let shards = self.shards(cx, sharded.as_deref());
        if let [shard] = shards[..]
            && !self.is_of_shards()
            && (joined.is_empty() || shard == 0)
            && self.sharded_joins(cx, &joined).is_empty()
        {
            let stages = self.on_shard(cx, shard, &self.stages);
            let reply = cx
                .send(
                    shard,
                    Kind::Read,
                    self.command(collection_of(self.namespace), stages),
                )
                .await?;
            cx.shared.cursors.keep(&reply, shard);
            return Ok(reply);
        }
        let options = self.command.get_document("cursor").cloned().unwrap_or_default();
        let before = if self.needs_none(&joined) {
            None
        } else {
            cx.begin_own()
        };
        let all = self.over(cx, shards, joined).await;
        cx.end_own(before, false).await?;
        Ok(cx
            .shared
            .cursors
            .reply(self.namespace, all?, batch_size(&options), false))
    }

    /// Whether a transaction refuses the pipeline, so that the router has none of its own.
    fn needs_none(&self, joined: &[Joined]) -> bool {
        joined.iter().any(|joined| joined.stage == "$unionWith")
    }

    /// All that the pipeline gives.
    async fn all(&self, cx: &mut Cx<'_>) -> Answer<Vec<Document>> {
        let sharded = cx.shared.sharded(self.namespace);
        let shards = self.shards(cx, sharded.as_deref());
        self.over(cx, shards, pipeline::joined(&self.stages)).await
    }

    fn sharded_joins(&self, cx: &Cx<'_>, joined: &[Joined]) -> Vec<String> {
        let is_sharded = |joined: &&Joined| {
            cx.shared
                .sharded(&format!("{}.{}", cx.database, joined.collection))
                .is_some()
        };
        let mut sharded: Vec<_> = joined
            .iter()
            .filter(is_sharded)
            .map(|joined| joined.collection.clone())
            .collect();
        sharded.sort();
        sharded.dedup();
        sharded
    }

    /// The stages with the documents left out that a moved chunk has left behind on the shard.
    fn on_shard(&self, cx: &Cx<'_>, shard: usize, stages: &[Document]) -> Vec<Document> {
        let (filter, number) = pipeline::leading_match(stages);
        let owned = without_orphans(cx.shared, self.namespace, shard, &filter);
        if owned == filter {
            return stages.to_vec();
        }
        let mut owned = vec![doc! { "$match": owned }];
        owned.extend_from_slice(&stages[number..]);
        owned
    }

    /// Whether each shard tells of itself: its name stands in what it tells.
    fn is_of_shards(&self) -> bool {
        let first = self.stages.first().map(pipeline::name);
        matches!(first, Some("$indexStats" | "$collStats"))
    }

    async fn over(&self, cx: &mut Cx<'_>, shards: Vec<usize>, joined: Vec<Joined>) -> Answer<Vec<Document>> {
        let (filter, number) = pipeline::leading_match(&self.stages);
        if shards.len() > 1
            && let Some(what) = pipeline::of_indexes(&self.stages).or_else(|| unmergeable(&filter))
        {
            return refuse(what, self.namespace);
        }
        let collection = collection_of(self.namespace);
        let sharded_joins = self.sharded_joins(cx, &joined);
        let is_of_shards = self.is_of_shards();
        let is_per_document = !is_of_shards && pipeline::is_per_document(&self.stages);
        if sharded_joins.is_empty() && joined.is_empty() && is_per_document {
            let mut all = Vec::new();
            for shard in shards {
                let stages = self.on_shard(cx, shard, &self.stages);
                all.extend(cx.read_all(shard, self.command(collection, stages)).await?);
            }
            return Ok(all);
        }
        let mut copies = BTreeMap::new();
        for joined in sharded_joins {
            let namespace = format!("{}.{joined}", cx.database);
            let everything = |shard: usize| {
                (
                    shard,
                    vec![doc! { "$match": without_orphans(cx.shared, &namespace, shard, &doc! {}) }],
                )
            };
            let sources = (0..SHARDS.len()).map(everything).collect();
            let copy = scratch::copy(cx, &namespace, sources, false).await?;
            cx.count(&namespace, SHARDS.len(), "join", &doc! {});
            copies.insert(joined, copy);
        }
        let stages = pipeline::renamed(&self.stages, &copies);
        let all = if shards == [0] && !is_of_shards {
            let stages = self.on_shard(cx, 0, &stages);
            cx.read_all(0, self.command(collection, stages)).await?
        } else {
            // The first stage reads statistics, which each shard has of itself alone.
            let number = if is_of_shards { 1 } else { number };
            let of_shard = |shard: usize| match is_of_shards {
                true => (
                    shard,
                    vec![stages[0].clone(), doc! { "$set": { "shard": SHARDS[shard] } }],
                ),
                false => (shard, self.on_shard(cx, shard, &stages[..number])),
            };
            let sources = shards.into_iter().map(of_shard).collect::<Vec<_>>();
            let copy = self.copy(cx, sources, is_of_shards).await?;
            let mut rest = vec![doc! { "$replaceRoot": { "newRoot": "$d" } }];
            rest.extend_from_slice(&stages[number..]);
            let mut command = self.command(&copy, rest);
            command.remove("hint");
            copies.insert(String::new(), copy);
            cx.read_all(0, command).await?
        };
        for copy in copies.values() {
            scratch::clear(cx, copy).await?;
        }
        Ok(all)
    }

    /// Copies what the shards give. Statistics are read outside of a transaction, which has none.
    async fn copy(
        &self,
        cx: &mut Cx<'_>,
        sources: Vec<(usize, Vec<Document>)>,
        is_of_shards: bool,
    ) -> Answer<String> {
        if !is_of_shards {
            let collation = self.command.get_document("collation").ok();
            return scratch::copy_under(cx, self.namespace, sources, true, collation).await;
        }
        let mut all = Vec::new();
        for (shard, pipeline) in sources {
            let database = crate::catalog::database(&cx.database, shard);
            let read =
                doc! { "aggregate": collection_of(self.namespace), "pipeline": pipeline, "cursor": {} };
            let reply = cx.backing.run(&database, read).await?;
            all.extend(documents(
                reply.get_document("cursor").unwrap_or(&Document::new()),
                "firstBatch",
            ));
        }
        scratch::of_documents(cx, all, true).await
    }
}

/// Writes what a pipeline gives, by its last stage on the shard that gets the documents.
async fn write(cx: &mut Cx<'_>, of: &str, target: &Target, last: Document, all: Vec<Document>) -> Answer<()> {
    let Some(sharded) = cx.shared.sharded(&target.namespace) else {
        return write_on(cx, of, 0, last, all).await;
    };
    let key = &sharded.key;
    let on_id = |on: &Vec<String>| on.len() == 1 && on[0] == "_id";
    if target
        .on
        .as_ref()
        .is_some_and(|on| on_id(on) && key.fields.iter().any(|field| field.path != "_id"))
    {
        return SHARD_KEY_NOT_FOUND.refuse(
            "PlanExecutor error during aggregation :: caused by :: Failed to target upsert by query :: could not extract exact shard key",
        );
    }
    let mut of_shards: [Vec<Document>; SHARDS.len()] = Default::default();
    for document in all {
        let is_known = |value: &&crate::key::KeyField| {
            crate::key::value_at(&document, &value.path)
                .is_some_and(|value| !matches!(value, Bson::Null | Bson::Array(_)))
        };
        let missing = key.fields.iter().find(|field| !is_known(field));
        let (Some(values), None) = (key.values(&document), missing) else {
            let field = missing.map_or("_id", |field| &field.path);
            return MERGE_FIELD.refuse(format!(
                "PlanExecutor error during aggregation :: caused by :: $merge write error: 'on' field '{field}' cannot be missing, null, \
                 undefined or an array"
            ));
        };
        let shard = crate::write::place(cx, &target.namespace, &values, document.get("_id"));
        of_shards[shard].push(document);
    }
    let mut last = last;
    if target.on.is_none() {
        let mut merge = last
            .get_document("$merge")
            .cloned()
            .unwrap_or_else(|_| doc! { "into": collection_of(&target.namespace) });
        // On one shard the `_id` tells documents apart.
        merge.insert("on", "_id");
        last.insert("$merge", merge);
    }
    for (shard, documents) in of_shards.into_iter().enumerate() {
        if !documents.is_empty() {
            write_on(cx, of, shard, last.clone(), documents).await?;
        }
    }
    Ok(())
}

/// The same on one shard. Messages name the collection of the pipeline.
async fn write_on(cx: &mut Cx<'_>, of: &str, shard: usize, last: Document, all: Vec<Document>) -> Answer<()> {
    let name = scratch::name();
    scratch::fill(cx, shard, &name, all).await?;
    let write = doc! { "aggregate": &name, "pipeline": [last], "cursor": {} };
    let outcome = cx.send(shard, Kind::Write, write).await;
    cx.send(shard, Kind::Other, doc! { "drop": &name }).await?;
    match outcome {
        Ok(_) => Ok(()),
        Err(Failure::Refused(reply)) => Err(Failure::Refused(renamed(reply, &name, of))),
        Err(error) => Err(error),
    }
}
