//! Finds: the documents of several shards in the order, with the limit and the projection of the command.

use super::merge::Order;
use super::{has_collation, refuse, scratch, unmergeable, without_orphans};
use crate::cursor::batch_size;
use crate::reply::{Answer, BAD_VALUE, count, is_set};
use crate::statement::{Cx, Kind};
use bson::{Document, doc};

/// Executes a find of a sharded collection.
pub(super) async fn execute(cx: &mut Cx<'_>, namespace: &str, mut command: Document) -> Answer {
    let Some(sharded) = cx.shared.sharded(namespace) else {
        return cx.send(0, Kind::Read, command).await;
    };
    let filter = command.get_document("filter").cloned().unwrap_or_default();
    let has_collation = has_collation(&command, sharded.default_collation.as_ref());
    let shards = cx.shards(namespace, &sharded, &filter, has_collation, "find");
    if let [shard] = shards[..] {
        command.insert("filter", without_orphans(cx.shared, namespace, shard, &filter));
        let reply = cx.send(shard, Kind::Read, command).await?;
        cx.shared.cursors.keep(&reply, shard);
        return Ok(reply);
    }
    if is_set(&command, "tailable") {
        return BAD_VALUE.refuse("tailable cursor requested on non capped collection");
    }
    if let Some(condition) = unmergeable(&filter) {
        return refuse(condition, namespace);
    }
    let batch = batch_size(&command);
    let is_single = is_set(&command, "singleBatch");
    ["batchSize", "singleBatch"]
        .iter()
        .for_each(|name| drop(command.remove(name)));
    let sort = command.get_document("sort").cloned().unwrap_or_default();
    let projection = command.get_document("projection").cloned().unwrap_or_default();
    let order = Order::of(&sort, &projection).filter(|order| !(has_collation && order.compares()));
    let found = match order {
        Some(merged) => {
            let (skip, limit) = (count(&command, "skip"), count(&command, "limit"));
            command.remove("skip");
            if limit > 0 {
                command.insert("limit", limit + skip);
            }
            command.remove("projection");
            if !merged.projection.is_empty() {
                command.insert("projection", merged.projection.clone());
            }
            let mut all = Vec::new();
            for shard in shards {
                let mut command = command.clone();
                command.insert("filter", without_orphans(cx.shared, namespace, shard, &filter));
                all.extend(cx.read_all(shard, command).await?);
            }
            let most = usize::try_from(limit)
                .ok()
                .filter(|limit| *limit > 0)
                .unwrap_or(usize::MAX);
            merged.sorted(all, usize::try_from(skip).unwrap_or(0), most)
        }
        None => {
            let sources = shards
                .iter()
                .map(|shard| {
                    (
                        *shard,
                        vec![doc! { "$match": without_orphans(cx.shared, namespace, *shard, &filter) }],
                    )
                })
                .collect();
            let before = cx.begin_own();
            let found = in_scratch(cx, namespace, sources, command).await;
            cx.end_own(before, false).await?;
            found?
        }
    };
    Ok(cx.shared.cursors.reply(namespace, found, batch, is_single))
}

/// Executes the find on a copy of the documents, where the server has to compare their values.
async fn in_scratch(
    cx: &mut Cx<'_>,
    namespace: &str,
    sources: Vec<(usize, Vec<Document>)>,
    mut command: Document,
) -> Answer<Vec<Document>> {
    let collation = command.get_document("collation").ok().cloned();
    let scratch = scratch::copy_under(cx, namespace, sources, false, collation.as_ref()).await?;
    command.insert("find", &scratch);
    ["hint", "min", "max"]
        .iter()
        .for_each(|name| drop(command.remove(name)));
    let found = cx.read_all(0, command).await?;
    scratch::clear(cx, &scratch).await?;
    Ok(found)
}
