//! Inserts: each document to the shard of its key.

use super::{Batch, check_moves, place};
use crate::catalog::Sharded;
use crate::reply::{Answer, SHARD_KEY_NOT_FOUND};
use crate::statement::Cx;
use bson::Document;
use bson::oid::ObjectId;

pub(super) async fn execute(cx: &mut Cx<'_>, sharded: &Sharded, batch: &mut Batch) -> Answer<()> {
    let namespace = batch.namespace.clone();
    let mut run: Vec<usize> = Vec::new();
    let mut of_run = 0;
    for position in 0..batch.statements.len() {
        let document = with_id(&mut batch.statements[position]);
        let Some(values) = sharded.key.values(document) else {
            flush(cx, batch, of_run, &mut run).await?;
            if batch.is_stopped() {
                return Ok(());
            }
            batch.refuse(
                position,
                SHARD_KEY_NOT_FOUND
                    .of_statement("Shard key cannot contain array values or array descendants."),
            );
            if batch.is_ordered {
                return Ok(());
            }
            continue;
        };
        let id = document.get("_id").cloned();
        check_moves(cx, sharded, &sharded.key.named(&values), false)?;
        let shard = place(cx, &namespace, &values, id.as_ref());
        cx.count(&namespace, 1, "insert", &Document::new());
        if shard != of_run {
            flush(cx, batch, of_run, &mut run).await?;
            if batch.is_stopped() {
                return Ok(());
            }
        }
        of_run = shard;
        run.push(position);
    }
    flush(cx, batch, of_run, &mut run).await
}

/// Sends the statements that are waiting for a shard.
async fn flush(cx: &mut Cx<'_>, batch: &mut Batch, shard: usize, run: &mut Vec<usize>) -> Answer<()> {
    if !run.is_empty() && !batch.is_stopped() {
        batch.send(cx, shard, run).await?;
    }
    run.clear();
    Ok(())
}

/// The document with an `_id` in front, which a router gives where the application does not.
fn with_id(document: &mut Document) -> &Document {
    if !document.contains_key("_id") {
        let mut with_id = bson::doc! { "_id": ObjectId::new() };
        with_id.extend(std::mem::take(document));
        *document = with_id;
    }
    document
}
