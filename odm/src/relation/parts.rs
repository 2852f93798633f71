//! The documents of an operation in parts, in the order of their ids: what is one transaction has to end within the server's
//! minute, and is kept in memory meanwhile.

use super::batch::{all, behind, document_id, ids};
use super::graph::Graph;
use super::scope::Scope;
use super::write::IN_ONE;
use crate::document::DocumentMeta;
use crate::trace::Trace;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, Document, doc};
use std::sync::atomic::{AtomicU64, Ordering};

/// So many documents at most are found by a condition that is asked once.
const MOST_FOUND: usize = 100_000;

/// The documents that fit a condition, in parts.
pub(crate) struct Parts<'a> {
    odm: &'a Odm,
    trace: &'a Trace,
    meta: &'static DocumentMeta,
    filter: Document,
    /// The id of the last document of the part before.
    last: Option<Bson>,
    more: bool,
}

impl<'a> Parts<'a> {
    /// # Errors
    /// [`Error::Query`] where there are too many for a condition that is asked once.
    pub(crate) async fn of(
        odm: &'a Odm,
        trace: &'a Trace,
        meta: &'static DocumentMeta,
        filter: Document,
    ) -> Result<Parts<'a>> {
        let mut parts = Parts {
            odm,
            trace,
            meta,
            filter,
            last: None,
            more: true,
        };
        if is_asked_once(odm.graph(), meta, &parts.filter) {
            let trips = AtomicU64::new(0);
            let filter = std::mem::take(&mut parts.filter);
            parts.filter = found(&Scope::new(odm, None, &trips), meta, filter, "changed").await?;
            trace.more(trips.load(Ordering::Relaxed));
        }
        Ok(parts)
    }

    /// The condition of the next part; `None` when there are no more.
    pub(crate) async fn next(&mut self) -> Result<Option<Document>> {
        if !self.more {
            return Ok(None);
        }
        let trips = AtomicU64::new(0);
        let scope = Scope::new(self.odm, None, &trips);
        let filter = match &self.last {
            Some(last) => all([behind(self.meta, last), self.filter.clone()]),
            None => self.filter.clone(),
        };
        let batch = scope
            .batch(self.meta, filter, Some(doc! { "_id": 1 }), IN_ONE)
            .await?;
        self.trace.more(trips.load(Ordering::Relaxed));
        self.more = batch.more;
        let Some(last) = batch.documents.last() else {
            return Ok(None);
        };
        self.last = Some(document_id(last));
        let part = doc! { "_id": { "$in": ids(&batch.documents) } };
        Ok(Some(all([part, self.filter.clone()])))
    }
}

/// Whether a condition has another answer after a part of the operation: it can't stand beside another one, or is on what is
/// derived of the documents themselves.
pub(super) fn is_asked_once(graph: &Graph, meta: &DocumentMeta, filter: &Document) -> bool {
    !combines(filter) || graph.is_derived_by(meta, filter)
}

/// Whether a condition may stand behind `$nor` and beside another one.
pub(crate) fn combines(filter: &Document) -> bool {
    fn is_free(value: &Bson) -> bool {
        match value {
            Bson::Document(document) => combines(document),
            Bson::Array(items) => items.iter().all(is_free),
            _ => true,
        }
    }
    filter
        .iter()
        .all(|(name, value)| !matches!(name.as_str(), "$text" | "$near" | "$nearSphere") && is_free(value))
}

/// The ids of the documents that are found by a condition that is asked once, as another condition. `becomes` says what
/// becomes of them.
pub(super) async fn found(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    becomes: &str,
) -> Result<Document> {
    let found = scope
        .batch(meta, filter, Some(doc! { "_id": 1 }), MOST_FOUND)
        .await?;
    if found.more {
        return Err(Error::Query {
            collection: meta.collection,
            message: format!(
                "other documents depend on these, and more than {MOST_FOUND} can't be {becomes} by a condition with `text` or \
                 `near`, or on what is derived of the others: find them first, and name them by their ids"
            ),
        });
    }
    Ok(doc! { "_id": { "$in": ids(&found.documents) } })
}
