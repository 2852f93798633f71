//! The checks and the work that follow the commit of a transaction.

use crate::engine::delete::soft;
use crate::engine::delete::tree::DeletionTree;
use crate::engine::delete::walk::{self, DeferredRecheck};
use crate::engine::hooks::call::{self, HandOver, HookedDocument};
use crate::engine::moved::{self, Moved};
use crate::engine::restore;
use crate::engine::write::drain;
use crate::engine::write::recheck::AfterWrites;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::Token;
use crate::rules::rule::DeferredWork;
use crate::store::cx::Cx;
use crate::store::routes::Routes;
use crate::store::session::{AfterCommit, Session};
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use std::sync::{Arc, PoisonError};

/// The work that the operations of a transaction leave for the time after its commit. References are checked again then, since its snapshot
/// does not show the writes of others.
#[derive(Default)]
pub(crate) struct WorkAfterCommit {
    /// What follows the writes of documents: of their references, and of the pending work that they have recorded.
    pub(crate) writes: AfterWrites,
    /// Documents that were deleted: whether something refers to them.
    pub(crate) deleted: Vec<DeferredRecheck>,
    /// Documents that were deleted, and are kept.
    pub(crate) soft_deleted: Vec<DeletionTree>,
    /// Documents that were restored: whether the targets of their references are there.
    pub(crate) restored: Vec<DeletionTree>,
    /// Documents that were moved: whether something refers to them as they were.
    pub(crate) moved: Vec<Moved>,
    /// Documents whose hooks follow the commit.
    pub(crate) changed: Vec<HookedDocument>,
    /// Where these are put instead of calling their hooks.
    pub(crate) hand_over: Option<HandOver>,
}

/// The result of the checks after a commit: an error only if something of the transaction was undone. Any other failure is
/// logged, since the transaction is committed, and an error would mean that it is not.
pub(crate) fn log_unless_undone(looked: Result<()>) -> Result<()> {
    match looked {
        Err(error @ (Error::MissingReference { .. } | Error::StillReferenced { .. })) => Err(error),
        Err(error) => {
            tracing::warn!(
                target: "odm",
                %error,
                "checking the references of a committed transaction, or those to documents that it deleted, failed, or a \
                 dangling one could not be undone; `audit()` finds those that dangle"
            );
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

impl AfterCommit for WorkAfterCommit {
    /// Checks references again after the commit of a transaction, applies its pending work, and calls hooks. A failure of the pending work
    /// is left to `recover`.
    ///
    /// # Errors
    /// [`Error::MissingReference`](crate::Error::MissingReference): the references were undone.
    /// [`Error::StillReferenced`](crate::Error::StillReferenced): the document was restored.
    fn run(self: Box<Self>, odm: &Odm, routes: Arc<Routes>) -> BoxFuture<'_, (u64, Result<()>)> {
        async move {
            let trace = Trace::without_span().knowing(Some(Arc::new(Routes::within(routes))));
            let cx = Cx::new(odm, None, &trace);
            let deleted = if self.deleted.is_empty() {
                Ok(())
            } else {
                walk::recheck_references(cx, self.deleted).await
            };
            let soft_deleted = if self.soft_deleted.is_empty() {
                Ok(())
            } else {
                soft::compare_again(cx, self.soft_deleted).await
            };
            let restored = if self.restored.is_empty() {
                Ok(())
            } else {
                restore::recheck_targets(cx, self.restored).await
            };
            let (checked, applied) = self.writes.run_all(&cx).await;
            drain::drained_or_logged(applied);
            let moved = if self.moved.is_empty() {
                Ok(())
            } else {
                moved::look_again(cx, self.moved).await
            };
            match self.hand_over {
                None => call::call_after_commit(odm, self.changed).await,
                Some(place) => place
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(self.changed),
            }
            let ended = [checked, deleted, soft_deleted, restored, moved].map(log_unless_undone);
            (trace.round_trips(), ended.into_iter().collect())
        }
        .boxed()
    }
}

impl Session {
    /// Does what follows writes after the commit.
    pub(crate) fn keep(&self, writes: AfterWrites) {
        self.after_commit(|after: &mut WorkAfterCommit| after.writes.add(writes));
    }

    /// Registers pending work of this collection's documents with this token, to be applied after the commit.
    pub(crate) fn add_pending(&self, meta: &'static DocumentMeta, token: Token) {
        self.after_commit(|after: &mut WorkAfterCommit| after.writes.deferred.add(meta, token));
    }

    /// Registers all this work, to be applied after the commit.
    pub(crate) fn defer(&self, deferred: DeferredWork) {
        self.after_commit(|after: &mut WorkAfterCommit| after.writes.deferred.add_all(deferred));
    }

    /// Looks once more, after the commit, whether something refers to these deleted documents, which are kept.
    pub(crate) fn look_for_references(&self, deleted: DeletionTree) {
        self.after_commit(|after: &mut WorkAfterCommit| after.soft_deleted.push(deleted));
    }

    /// Looks once more, after the commit, whether the targets of these restored documents are there.
    pub(crate) fn look_for_targets(&self, restored: DeletionTree) {
        self.after_commit(|after: &mut WorkAfterCommit| after.restored.push(restored));
    }

    /// Looks once more, after the commit, whether something refers to this document by its previous key.
    pub(crate) fn look_after_move(&self, moved: Moved) {
        self.after_commit(|after: &mut WorkAfterCommit| after.moved.push(moved));
    }

    /// Calls the hooks of these documents that follow the commit.
    pub(crate) fn call_after_commit(&self, changed: Vec<HookedDocument>) {
        self.after_commit(|after: &mut WorkAfterCommit| after.changed.extend(changed));
    }

    /// Puts the documents whose hooks follow the commit here, instead of calling the hooks.
    pub(crate) fn hand_over(&self, place: HandOver) {
        self.after_commit(|after: &mut WorkAfterCommit| after.hand_over = Some(place));
    }

    /// Looks once more, after the commit, whether something refers to what was deleted.
    pub(crate) fn look_at_the_end(&self, deleted: Vec<DeferredRecheck>) {
        self.after_commit(|after: &mut WorkAfterCommit| after.deleted.extend(deleted));
    }
}
