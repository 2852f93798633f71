//! Updates and replacements: an upsert needs the whole shard key in its filter, another update of one document a single shard or an
//! exact `_id`, and a replacement goes by its own key where the filter leaves the shard open.

use super::delete::has_own_collation;
use super::{Batch, Refusal, check_collation, check_moves, place, rekey};
use crate::catalog::{Sharded, marked};
use crate::key::{exact_id, has_operators};
use crate::read::has_collation;
use crate::reply::{Answer, Failure, INVALID_OPTIONS, SHARD_KEY_NOT_FOUND, documents, is_ok, is_set, shell};
use crate::statement::Cx;
use bson::{Bson, Document};

pub(super) async fn execute(cx: &mut Cx<'_>, sharded: &Sharded, batch: &mut Batch) -> Answer<()> {
    let namespace = batch.namespace.clone();
    for position in 0..batch.statements.len() {
        let update = batch.statements[position].clone();
        match shards(cx, &namespace, sharded, &update) {
            Ok(shards) => {
                let filter = update.get_document("q").cloned().unwrap_or_default();
                let has_collation = has_collation(&update, sharded.default_collation.as_ref());
                check_moves(cx, sharded, &filter, has_collation)?;
                cx.count(&namespace, shards.len(), "update", &filter);
                one(cx, sharded, batch, position, &shards).await?;
            }
            Err(error) => batch.refuse(position, error),
        }
        if batch.is_stopped() {
            break;
        }
    }
    Ok(())
}

/// Executes one update on its shards.
async fn one(
    cx: &mut Cx<'_>,
    sharded: &Sharded,
    batch: &mut Batch,
    position: usize,
    shards: &[usize],
) -> Answer<()> {
    let update = batch.statements[position].clone();
    let filter = update.get_document("q").cloned().unwrap_or_default();
    let exact = sharded.key.exact(&filter);
    let change = update.get("u").cloned().unwrap_or(Bson::Null);
    if rekey::may_change(&sharded.key, exact.as_deref(), &filter, &change) {
        let reply = rekey::update(cx, sharded, batch, position, shards).await?;
        if is_ok(&reply) {
            batch.add(&reply, &[position]);
            return Ok(());
        }
        return batch.failed(cx, &[position], reply);
    }
    if let ([shard], Some(values)) = (shards, &exact) {
        let reply = batch.send(cx, *shard, &[position]).await?;
        for upserted in documents(&reply, "upserted") {
            place(cx, &batch.namespace, values, upserted.get("_id"));
        }
        return Ok(());
    }
    batch.broadcast(cx, shards, position).await
}

/// Whether a change is a replacement.
pub(super) fn replacement(change: &Bson) -> Option<&Document> {
    change.as_document().filter(|change| !has_operators(change))
}

/// The shards that get an update.
fn shards(cx: &Cx<'_>, namespace: &str, sharded: &Sharded, update: &Document) -> Result<Vec<usize>, Refusal> {
    let filter = update.get_document("q").cloned().unwrap_or_default();
    let has_collation = has_collation(update, sharded.default_collation.as_ref());
    let key = &sharded.key;
    let exact = key.exact(&filter);
    if is_set(update, "upsert") {
        let Some(values) = exact else {
            return Err(SHARD_KEY_NOT_FOUND
                .of_statement("Failed to target upsert by query :: could not extract exact shard key"));
        };
        check_collation(namespace, sharded, &values, has_collation)?;
        return Ok(vec![place(cx, namespace, &values, None)]);
    }
    if let Some(values) = exact
        && check_collation(namespace, sharded, &values, has_collation).is_ok()
    {
        return Ok(vec![sharded.owner(&values)]);
    }
    let shards = marked(sharded.shards_of(&filter, has_collation, cx.since()));
    if shards.len() == 1 {
        return Ok(shards);
    }
    if let Some(document) = update.get("u").and_then(replacement) {
        let mut document = document.clone();
        if let (false, Some(id)) = (document.contains_key("_id"), exact_id(&filter, false)) {
            document.insert("_id", id);
        }
        let Some(values) = key.values(&document) else {
            return Err(SHARD_KEY_NOT_FOUND.of_statement(
                "Failed to target update by replacement document :: could not extract exact shard key",
            ));
        };
        return Ok(vec![sharded.owner(&values)]);
    }
    if is_set(update, "multi") || exact_id(&filter, has_own_collation(update)).is_some() {
        return Ok(shards);
    }
    let mut request = Document::new();
    for name in [
        "q",
        "u",
        "c",
        "arrayFilters",
        "multi",
        "upsert",
        "collation",
        "hint",
    ] {
        let value = match name {
            "multi" | "upsert" => Some(Bson::Boolean(false)),
            name => update.get(name).cloned(),
        };
        request.extend(value.map(|value| (name.to_owned(), value)));
    }
    Err(INVALID_OPTIONS.of_statement(format!(
        "A {{multi:false}} update on a sharded collection must contain an exact match on _id (and have the collection default \
         collation) or target a single shard (and have the simple collation), but this update targeted {} shards. Update request: {}, \
         shard key pattern: {}",
        shards.len(),
        shell(&request),
        shell(&key.pattern())
    )))
}

/// Refuses an update that no shard would get.
pub(crate) fn check(cx: &Cx<'_>, namespace: &str, sharded: &Sharded, update: &Document) -> Answer<()> {
    match shards(cx, namespace, sharded, update) {
        Ok(_) => Ok(()),
        Err(mut error) => {
            error.insert("ok", 0.0);
            Err(Failure::Refused(error))
        }
    }
}
