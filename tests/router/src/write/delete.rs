//! Deletes: one of a single document needs the shard key, or its `_id` exactly.

use super::{Batch, Refusal, check_collation, check_moves};
use crate::catalog::{Sharded, marked};
use crate::key::exact_id;
use crate::read::has_collation;
use crate::reply::{Answer, SHARD_KEY_NOT_FOUND, count, shell};
use crate::statement::Cx;
use bson::Document;

pub(super) async fn execute(cx: &mut Cx<'_>, sharded: &Sharded, batch: &mut Batch) -> Answer<()> {
    let namespace = batch.namespace.clone();
    for position in 0..batch.statements.len() {
        let delete = batch.statements[position].clone();
        let filter = delete.get_document("q").cloned().unwrap_or_default();
        match shards(cx, &namespace, sharded, &delete) {
            Ok(shards) => {
                let has_collation = has_collation(&delete, sharded.default_collation.as_ref());
                check_moves(cx, sharded, &filter, has_collation)?;
                cx.count(&namespace, shards.len(), "delete", &filter);
                batch.broadcast(cx, &shards, position).await?;
            }
            Err(error) => batch.refuse(position, error),
        }
        if batch.is_stopped() {
            break;
        }
    }
    Ok(())
}

/// The shards that get a delete.
fn shards(cx: &Cx<'_>, namespace: &str, sharded: &Sharded, delete: &Document) -> Result<Vec<usize>, Refusal> {
    let filter = delete.get_document("q").cloned().unwrap_or_default();
    let has_collation = has_collation(delete, sharded.default_collation.as_ref());
    if let Some(values) = sharded.key.exact(&filter)
        && check_collation(namespace, sharded, &values, has_collation).is_ok()
    {
        return Ok(vec![sharded.owner(&values)]);
    }
    if count(delete, "limit") == 1 && exact_id(&filter, has_own_collation(delete)).is_none() {
        return Err(SHARD_KEY_NOT_FOUND.of_statement(format!(
            "A single delete on a sharded collection must contain an exact match on _id (and have the collection default collation) or \
             contain the shard key (and have the simple collation). Delete request: {}, shard key pattern: {}",
            shell(delete),
            shell(&sharded.key.pattern())
        )));
    }
    Ok(marked(sharded.shards_of(&filter, has_collation, cx.since())))
}

/// Whether a statement has a collation that need not be the collection's.
pub(super) fn has_own_collation(statement: &Document) -> bool {
    statement
        .get_document("collation")
        .is_ok_and(|collation| !collation.is_empty())
}
