//! Takes back inserts: documents that were inserted a moment ago are deleted, with the links to them.

use crate::Result;
use crate::engine::drain;
use crate::graph::sync::is_atomic;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::own_fields::Token;
use crate::plan::links::Diff;
use crate::rules::exists::roots;
use crate::rules::link::other_side::{effects_of, node, values};
use crate::rules::needed;
use crate::rules::rule::{DeferredWork, Effects};
use crate::store::batch::by_ids;
use crate::store::scope::Scope;
use crate::store::transaction;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};

/// Deletes documents that were inserted a moment ago, and what links others with them.
pub(crate) fn remove<'s>(
    scope: &'s Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &'s [Bson],
) -> BoxFuture<'s, Result<()>> {
    async move {
        let graph = scope.odm.graph();
        let mut derived = graph.derived_from(meta);
        let is_followed = derived.any(|derived| is_atomic(derived.sync, true));
        let left = if (graph.is_linked(meta) || is_followed) && scope.odm.has_transactions().await? {
            transaction::take_turns(scope.odm, Vec::new(), |session| async move {
                unlink(&scope.within(&session), meta, ids, is_followed).await
            })
            .await?
        } else {
            unlink(scope, meta, ids, false).await?
        };
        left.drain(scope).await.map(drop)
    }
    .boxed()
}

/// Returns what is to be done after the commit. `is_followed` says that this is a transaction which updates what is derived of the
/// documents.
async fn unlink(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &[Bson],
    is_followed: bool,
) -> Result<DeferredWork> {
    let graph = scope.odm.graph();
    let edges = || graph.outgoing(meta).filter(|edge| edge.is_two_way());
    let mut effects = Effects::new(scope);
    let keys: Vec<Key> = ids.iter().map(Key::of_bson).collect();
    if graph.is_linked(meta) {
        let mut diff = Diff::default();
        for document in by_ids(scope, meta, keys.iter(), roots(edges())).await? {
            let Some(holder) = node(&document) else { continue };
            for edge in edges() {
                diff.add(edge, &holder, &values(edge, &document), &[])?;
            }
        }
        let links = effects_of(scope, graph, &diff).await?;
        let beside = effects.link(scope, None, &links).await?;
        effects.written(scope, None, beside).await?;
    }
    if is_followed {
        for ids in crate::model::key::chunks(&keys) {
            let which = doc! { "_id": { "$in": ids } };
            let documents = scope.every(meta, which.clone(), needed(graph, meta)).await?;
            scope.delete(meta, which).await?;
            let documents: Vec<&RawDocumentBuf> = documents.iter().collect();
            effects.deleted(scope, meta, &documents).await?;
        }
        let (_, left) = effects.end(scope).await?;
        return Ok(left);
    }
    let (_, mut left) = effects.end(scope).await?;
    // Fields that are derived from them are derived without them before they are deleted.
    let derives = graph.derived_from(meta).next().is_some() || graph.is_child_of_others(meta);
    let token = Token::new();
    for ids in crate::model::key::chunks(&keys) {
        let which = doc! { "_id": { "$in": ids } };
        if derives {
            drain::mark_gone(scope, meta, which, token).await?
        } else {
            scope.delete(meta, which).await?
        };
    }
    if derives {
        left.add(meta, token);
    }
    Ok(left)
}
