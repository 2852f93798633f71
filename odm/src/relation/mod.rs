//! Keeps references true: which there are, whether their targets exist, and that both sides of a two-way one agree.
//!
//! Everything here works on the constants of documents, on raw collections and on BSON, so that it is compiled once. The
//! engine says what is written, and hands over how it is sent.

pub(crate) mod audit;
mod back;
mod batch;
mod changes;
mod checks;
pub(crate) mod derived;
mod effects;
mod expiry;
mod follow;
pub(crate) mod graph;
mod inspect;
mod links;
mod pairs;
mod parts;
mod raw;
mod remove;
pub(crate) mod repair;
mod rule;
mod scope;
#[cfg(test)]
mod testing;
mod write;

pub(crate) use checks::Recheck;
pub use derived::backfill_at_once;
pub(crate) use derived::{
    Age, DeferredWork, Filled, Inserts, Looked, Token, Unknown, demanded, order_of, record_all_pending,
    with_all_pending,
};
pub(crate) use graph::{Edge, Graph, What as Derivation, is};
pub(crate) use parts::{Parts, by_collation, combines, id_by_collation};
pub(crate) use remove::{Later, remove};
pub(crate) use rule::has_rules;
pub(crate) use scope::Scope;
pub(crate) use write::{
    MAX_DOCS_PER_TX, Obligations, What, Write, belong_together, is_unrelated, prepare, prepare_upsert,
    refers_to_its_kind,
};

use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::RawDocumentBuf;
use std::sync::atomic::AtomicU64;

/// References that are checked again after the commit of a transaction, since its snapshot does not show the writes of others.
#[derive(Default)]
pub(crate) struct AfterCommit {
    /// References that were written: whether their targets are there.
    pub(crate) written: Vec<Recheck>,
    /// Documents that were deleted: whether something refers to them.
    pub(crate) deleted: Vec<Later>,
    /// The pending work of written documents.
    pub(crate) left: derived::DeferredWork,
}

/// Fills in copies before a write, in its transaction or not.
#[derive(Clone, Copy)]
pub(crate) struct FillIn<'a> {
    pub(crate) odm: &'a Odm,
    pub(crate) session: Option<&'a crate::session::Shared>,
    pub(crate) trace: &'a crate::store::trace::Trace,
    /// The inserts of the same operation into other collections.
    pub(crate) beside: &'a [Inserts],
}

impl FillIn<'_> {
    /// Puts collections from which others of them copy before these.
    pub(crate) fn sources_first(self, metas: &mut Vec<&'static crate::model::document::DocumentMeta>) {
        let graph = self.odm.graph();
        let mut rest = std::mem::take(metas);
        while !rest.is_empty() {
            let waits = |meta: &crate::model::document::DocumentMeta| {
                let copying = graph.outgoing(meta).filter(|edge| !edge.copies.is_empty());
                copying.flat_map(|edge| &edge.targets).any(|target| {
                    target.collection != meta.collection
                        && rest.iter().any(|other| other.collection == target.collection)
                })
            };
            // Those that copy from each other have no order.
            let next = rest.iter().position(|meta| !waits(meta)).unwrap_or(0);
            metas.push(rest.remove(next));
        }
    }

    /// Whether copies may be taken of documents that the same operation inserts: if it fails, nothing of it is left.
    pub(crate) async fn may_copy(self, meta: &crate::model::document::DocumentMeta) -> Result<bool> {
        let mut incoming = self.odm.graph().incoming(meta);
        let is_source = incoming.any(|edge| edge.sync().is_some());
        Ok(is_source && (self.session.is_some() || self.odm.has_transactions().await?))
    }

    /// Fills in copies in new documents. Their pending work has this token.
    pub(crate) async fn insert(
        self,
        meta: &'static crate::model::document::DocumentMeta,
        documents: &mut [RawDocumentBuf],
        token: &mut Option<Token>,
    ) -> Result<()> {
        self.with(async |scope| derived::fill_insert(scope, meta, documents, self.beside, token).await)
            .await?;
        match self.odm.graph().is_linked(meta) {
            true => pairs::count_new(documents),
            false => Ok(()),
        }
    }

    /// Puts copies beside the references that an update sets, in one document, if it names one by its id.
    pub(crate) async fn update(
        self,
        meta: &'static crate::model::document::DocumentMeta,
        one: Option<&mongodb::bson::Bson>,
        built: &mut crate::operators::Built,
        upsert: bool,
        token: &mut Option<Token>,
    ) -> Result<()> {
        self.with(async |scope| {
            derived::fill_update(scope, meta, one, built, upsert, self.beside, token).await
        })
        .await?;
        if pairs::links(self.odm.graph(), meta, built) {
            pairs::count(&mut built.update);
        } else if upsert && self.odm.graph().is_linked(meta) {
            // An upsert that finds a document does not link it, and does not write to it for that.
            pairs::count_inserted(&mut built.update);
        }
        Ok(())
    }

    /// The replacement with its copies; `None` for a document without copies.
    pub(crate) async fn replace(
        self,
        meta: &'static crate::model::document::DocumentMeta,
        document: &RawDocumentBuf,
        token: &mut Option<Token>,
    ) -> Result<Option<Filled>> {
        self.with(async |scope| derived::fill_replace(scope, meta, document, self.beside, token).await)
            .await
    }

    async fn with<R>(self, work: impl AsyncFnOnce(&Scope<'_>) -> Result<R>) -> Result<R> {
        let trips = AtomicU64::new(0);
        let scope = Scope::new(self.odm, self.session, &trips);
        let done = work(&scope).await;
        self.trace.more(trips.into_inner());
        done
    }
}

/// The error for a copy that is declared `sync = atomic` on a deployment without transactions.
pub(crate) async fn unsupported(odm: &Odm, copy: String) -> Result<Error> {
    tracing::debug!(target: "odm", copy, "a copy with `sync = atomic` needs transactions");
    Ok(Error::Unsupported {
        operation: "a copy that is declared `sync = atomic`",
        needs: "a replica set or a sharded cluster",
        is: odm.server().await?.to_string(),
    })
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
        let deleted = match left.deleted.is_empty() {
            true => Ok(()),
            false => remove::look_again(scope, left.deleted).await,
        };
        let checked = match left.written.is_empty() {
            true => Ok(()),
            false => checks::after(&scope, &left.written).await,
        };
        derived::drained_or_logged(deferred.drain(&scope).await);
        told(checked)?;
        told(deleted)
    }
    .boxed()
}
