//! Fills in what the library has in documents before a write: copies, the fields of children, and the count of link writes.

use crate::own_fields::Token;
use crate::plan::keep::Filled;
use crate::plan::touches::Touches;
use crate::rules::copy::fill::{self, Inserts};
use crate::rules::link::count;
use crate::store::scope::Scope;
use crate::{Odm, Result};
use mongodb::bson::RawDocumentBuf;
use std::sync::atomic::AtomicU64;

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
        self.with(async |scope| fill::fill_insert(scope, meta, documents, self.beside, token).await)
            .await?;
        if self.odm.graph().is_linked(meta) {
            count::count_new(documents)
        } else {
            Ok(())
        }
    }

    /// Puts copies beside the references that an update sets, in one document, if it names one by its id.
    pub(crate) async fn update(
        self,
        meta: &'static crate::model::document::DocumentMeta,
        (one, upsert): (Option<&mongodb::bson::Bson>, bool),
        (built, touches): (&mut crate::plan::operators::Built, &Touches),
        token: &mut Option<Token>,
    ) -> Result<()> {
        let changes = (&mut *built, touches);
        self.with(async |scope| {
            fill::fill_update(scope, meta, (one, upsert), changes, self.beside, token).await
        })
        .await?;
        if touches.links(self.odm.graph()) {
            count::count(&mut built.update);
        } else if upsert && self.odm.graph().is_linked(meta) {
            // An upsert that finds a document does not link it, and does not write to it for that.
            count::count_inserted(&mut built.update);
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
        self.with(async |scope| fill::fill_replace(scope, meta, document, self.beside, token).await)
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
