//! Restores documents whose deletion has kept them.
//!
//! A restoration restores a [`DeletionTree`]: the document with what its deletion has deleted below it. The tree is read, and all targets of its
//! references are looked for, before the first write, so no document is restored below a deleted one.
//!
//! Where the deployment has transactions, a tree of up to [`MAX_DOCS_PER_TX`] documents is restored in one transaction. Otherwise it is
//! restored in steps, the document at the top first, and a refusal deletes all of them again. An interrupted restoration goes on when it
//! is repeated. Afterwards the targets are looked up again: where one was deleted meanwhile, the documents are deleted again.
//!
//! The memory that it needs is that of the ids, whatever the documents hold: `engine/delete/level.rs` says why it needs these.

use crate::Error;
use crate::Result;
use crate::engine::delete::level::{TreeMeta, fields, is_deleted, token_at};
use crate::engine::delete::soft::changing as undoing;
use crate::engine::delete::tree::{Below, DeletionTree, followers, has_below};
use crate::engine::execute;
use crate::engine::hooks::call::{HandOver, call_after_commit};
use crate::engine::write::attempt::MAX_DOCS_PER_TX;
use crate::model::own_fields::{DELETION, RESTORING, Token};
use crate::plan::operation::{UpdateManyWrite, WriteKind, WriteOperation};
use crate::plan::outcome::Done;
use crate::plan::targets;
use crate::store::core::Core;
use crate::store::cx::{Cx, found_one};
use crate::store::filter::within;
use crate::store::session::{Session, Unfinished};
use crate::store::trace::Trace;
use crate::store::transaction;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, doc};
use std::collections::HashSet;
use std::sync::PoisonError;

/// Maximum number of looks for documents that have come below a document whose restoration is taken back.
const LOOKS: usize = 10;

/// Restores a deleted document, with what its deletion has deleted below it: whether it was deleted, and how many others.
///
/// # Errors
/// [`Error::MissingReference`] where a reference with `cascade` or `restrict` names a document that is deleted.
pub(crate) async fn restore(core: &Core, trace: &Trace, key: Bson) -> Result<(bool, u64)> {
    let (odm, meta) = (core.odm(), core.meta());
    odm.can_restrict(meta, false)?;
    odm.know_declarations(trace).await?;
    for written in followers(odm.graph(), meta).into_iter().chain([meta]) {
        odm.may_write(written)?;
    }
    if core.session().is_none()
        && has_below(odm.graph(), meta)
        && odm.has_transactions().await?
        && let Some(restored) = at_once(core, trace, &key).await?
    {
        return Ok(restored);
    }
    let restored = restore_up_to(usize::MAX, core, trace, &key).await?;
    Ok(restored.unwrap_or_default())
}

/// Restores a document in a transaction. `None` where the documents are too many for one.
async fn at_once(core: &Core, trace: &Trace, key: &Bson) -> Result<Option<(bool, u64)>> {
    let committed = HandOver::default();
    let work = |session: Session| {
        let (core, committed) = (core.within(Some(session.clone())), committed.clone());
        async move {
            session.hand_over(committed);
            restore_up_to(MAX_DOCS_PER_TX, &core, trace, key).await
        }
    };
    let made = transaction::transaction(core.odm(), Some(trace), work).await;
    let committed = std::mem::take(&mut *committed.lock().unwrap_or_else(PoisonError::into_inner));
    call_after_commit(core.odm(), committed).await;
    made
}

/// Restores a document in the transaction of the handle, or in steps. `None` where more than `most` documents would be restored.
async fn restore_up_to(most: usize, core: &Core, trace: &Trace, key: &Bson) -> Result<Option<(bool, u64)>> {
    let cx = core.cx(trace);
    // One that is dropped within a transaction keeps that from being committed.
    let unfinished = core.session().map(Session::unfinished);
    let place = core.placed(doc! { "_id": { "$eq": key } })?;
    let restored = match read(&cx, core.meta(), place, most).await {
        Ok(None) => Ok(Some((false, 0))),
        Ok(Some(tree)) if tree.len() > most => Ok(None),
        Ok(Some(tree)) => restore_tree(&cx, tree).await.map(Some),
        Err(error) => Err(error),
    };
    unfinished.into_iter().for_each(Unfinished::complete);
    restored
}

/// Reads the document with what its deletion has deleted below it. One that another program has marked as deleted has nothing below it.
async fn read(cx: &Cx<'_>, meta: TreeMeta, named: Document, most: usize) -> Result<Option<DeletionTree>> {
    let graph = cx.odm.graph();
    let mut begun = [DELETION, RESTORING]
        .map(|field| doc! { field: { "$exists": true } })
        .to_vec();
    begun.extend(meta.soft_delete.map(|name| doc! { name: { "$ne": null } }));
    let mut place = within(named, &doc! { "$or": begun });
    if let Some(own) = cx.odm.scope_with_deleted(meta) {
        place = within(place, &own);
    }
    // A second one has the same `_id` on another shard.
    let mut found = cx.few(meta, place.clone(), fields(graph, meta), 2).await?;
    found_one(meta, &place, &found)?;
    let Some(document) = found.pop() else {
        return Ok(None);
    };
    let which = if is_deleted(meta, &document) {
        Below::Deleted
    } else {
        Below::Both
    };
    let has_id = token_at(&document, &[DELETION, RESTORING]).is_some();
    let mut tree = DeletionTree::new(meta, document, Token::new());
    if has_id && has_below(graph, meta) {
        tree.read_below(cx, which, most, None).await?;
    }
    Ok(Some(tree))
}

async fn restore_tree(cx: &Cx<'_>, mut tree: DeletionTree) -> Result<(bool, u64)> {
    let (odm, session) = (cx.odm, cx.session);
    let missing = tree.leave_out_shared(cx).await?;
    if !missing.is_empty() {
        return Err(targets::refused(odm.graph(), missing));
    }
    let change = changing(*cx);
    let restored = tree.restore(session.is_none(), &change).await;
    let Some(session) = session else {
        let restored = match restored {
            Ok(restored) => restored,
            Err(error) => {
                if !tree.is_restored_by_another() {
                    take_back_or_log(cx, &mut tree).await;
                }
                return Err(error);
            }
        };
        if !tree.is_restored_by_another() && !tree.is_ended(cx).await? {
            keep_targets(cx, &mut tree).await?;
        }
        if tree.len() > 1 {
            tree.compare(*cx, &HashSet::new(), &mut Done::default()).await?;
        }
        tree.end_restoration(cx).await?;
        return Ok(restored);
    };
    let ended = match restored {
        Ok(restored) => tree.end_restoration(cx).await.map(|()| restored),
        Err(error) => Err(error),
    };
    match &ended {
        Ok(_) => session.look_for_targets(tree),
        // A part of it may be written: it must not be committed, whatever the caller does with the error.
        Err(error) => session.spoil(error),
    }
    ended
}

/// Looks for the targets of documents that were restored in a transaction, after its commit.
pub(crate) async fn recheck_targets(cx: Cx<'_>, trees: Vec<DeletionTree>) -> Result<()> {
    let mut failed = Ok(());
    for mut tree in trees {
        failed = failed.and(keep_targets(&cx, &mut tree).await);
    }
    failed
}

/// Looks for the targets of restored documents again. Where one was deleted meanwhile, all of the documents are deleted again.
///
/// # Errors
/// [`Error::MissingReference`] where they are.
async fn keep_targets(cx: &Cx<'_>, tree: &mut DeletionTree) -> Result<()> {
    let missing = tree.lost_targets(cx).await?;
    if missing.is_empty() {
        return Ok(());
    }
    take_back(cx, tree).await?;
    Err(targets::refused(cx.odm.graph(), missing))
}

/// Deletes restored documents again, and those that have come below them meanwhile. As of all that is undone, no hooks are called.
async fn take_back(cx: &Cx<'_>, tree: &mut DeletionTree) -> Result<()> {
    let change = undoing(cx.outside());
    tree.delete_again(&change).await?;
    if !tree.has_deleted_root() {
        return tree.begin_again(cx).await;
    }
    for _ in 0..LOOKS {
        let late = tree.grow(cx, Below::Living, usize::MAX).await?;
        if late.is_empty() {
            break;
        }
        tree.delete_levels(&late, &change).await?;
    }
    Ok(())
}

/// The same after an error, which is the one to report.
async fn take_back_or_log(cx: &Cx<'_>, tree: &mut DeletionTree) {
    if let Err(error) = take_back(cx, tree).await {
        tracing::warn!(
            target: "odm",
            %error,
            "deleting the documents of a refused restoration again failed; `audit()` finds a part that is restored"
        );
    }
}

/// Changes documents by operations of their own, with their hooks.
fn changing<'c>(
    cx: Cx<'c>,
) -> impl Fn(TreeMeta, Document, Document) -> BoxFuture<'c, Result<u64, Error>> + Send + Sync + 'c {
    move |meta, condition, update| {
        async move {
            let update = UpdateManyWrite::by_library(meta, condition, update)?;
            let operation = WriteOperation::one(meta, WriteKind::UpdateMany(Box::new(update)));
            let made = execute(cx, operation).await?;
            Ok(made.counts.modified)
        }
        .boxed()
    }
}
