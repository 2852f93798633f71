//! The checks and the work that follow the commit of a transaction.

use crate::engine::delete::walk::{self, Later};
use crate::engine::recheck::Recheck;
use crate::engine::{drain, recheck};
use crate::rules::effects::DeferredWork;
use crate::store::scope::Scope;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use std::sync::atomic::AtomicU64;

/// References that are checked again after the commit of a transaction, since its snapshot does not show the writes of others.
#[derive(Default)]
pub(crate) struct AfterCommit {
    /// References that were written: whether their targets are there.
    pub(crate) written: Vec<Recheck>,
    /// Documents that were deleted: whether something refers to them.
    pub(crate) deleted: Vec<Later>,
    /// The pending work of written documents.
    pub(crate) left: DeferredWork,
}

/// The result of the checks after a commit: an error only if something of the transaction was undone. Any other failure is
/// logged, since the transaction is committed, and an error would mean that it is not.
pub(crate) fn told(looked: Result<()>) -> Result<()> {
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

/// Checks references again after the commit of a transaction, and applies its pending work. A failure of that is left to
/// `recover`.
///
/// # Errors
/// [`Error::MissingReference`](crate::Error::MissingReference): the references were undone.
/// [`Error::StillReferenced`](crate::Error::StillReferenced): the document was restored.
pub(crate) fn after_commit(odm: &Odm, left: AfterCommit) -> BoxFuture<'_, Result<()>> {
    async move {
        let trips = AtomicU64::new(0);
        let scope = Scope::new(odm, None, &trips);
        let mut left = left;
        let deferred = std::mem::take(&mut left.left);
        let deleted = if left.deleted.is_empty() {
            Ok(())
        } else {
            walk::look_again(scope, left.deleted).await
        };
        let checked = if left.written.is_empty() {
            Ok(())
        } else {
            recheck::after(&scope, &left.written).await
        };
        drain::drained_or_logged(deferred.drain(&scope).await);
        told(checked)?;
        told(deleted)
    }
    .boxed()
}
