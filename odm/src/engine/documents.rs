//! The documents of an operation in parts, in the order of their ids: what is one transaction has to end within the server's
//! minute, and is kept in memory meanwhile.

use crate::engine::obligations::MAX_DOCS_PER_TX;
use crate::model::document::DocumentMeta;
use crate::plan::repeated::{follows_itself, is_asked_once, rest};
use crate::store::batch::{all, behind, document_id, ids};
use crate::store::scope::Scope;
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, Document, doc};
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of documents that one query returns here; more are refused.
const MOST_FOUND: usize = 100_000;

/// The documents that match a condition, in parts. A condition whose result the parts may change is evaluated before the first
/// one.
pub(crate) struct Parts<'a> {
    odm: &'a Odm,
    trace: &'a Trace,
    meta: &'static DocumentMeta,
    filter: Document,
    /// Where the condition is asked once: the ids that it has found and that are still to come.
    found: Option<std::vec::IntoIter<Bson>>,
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
            found: None,
            last: None,
            more: true,
        };
        let graph = odm.graph();
        if is_asked_once(graph, meta, &parts.filter) || follows_itself(graph, meta, &parts.filter) {
            let trips = AtomicU64::new(0);
            let filter = std::mem::take(&mut parts.filter);
            parts.filter = rest(graph, meta, &filter, follows_itself);
            let found = found(&Scope::new(odm, None, &trips), meta, filter, "changed").await?;
            parts.found = Some(found.into_iter());
            trace.more(trips.load(Ordering::Relaxed));
        }
        Ok(parts)
    }

    /// The condition of the next part; `None` when there are no more.
    pub(crate) async fn next(&mut self) -> Result<Option<Document>> {
        if let Some(found) = &mut self.found {
            let ids: Vec<Bson> = found.take(MAX_DOCS_PER_TX).collect();
            let part = doc! { "_id": { "$in": &ids } };
            return Ok((!ids.is_empty()).then(|| all([part, self.filter.clone()])));
        }
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
            .batch(self.meta, filter, Some(doc! { "_id": 1 }), MAX_DOCS_PER_TX)
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

/// The condition of the documents that a condition finds by another collation than that of their collection: their ids. What the
/// rules of the library ask of documents is asked by the collation of their collection, so they are named by these.
///
/// # Errors
/// [`Error::Query`] where there are too many.
pub(crate) async fn by_collation(
    core: &crate::store::core::Core,
    filter: Document,
    collation: mongodb::options::Collation,
) -> Result<Document> {
    let limit = MOST_FOUND as i64 + 1;
    let mut ids: Vec<Bson> = Vec::new();
    let found = crate::query::find::Query::new(core.clone(), crate::Filter::raw(filter));
    let mut take = |document: &mongodb::bson::RawDocument| {
        let id = document.get("_id").ok().flatten();
        ids.extend(id.and_then(|id| Bson::try_from(id).ok()));
        Ok(())
    };
    found.ids(collation, limit, &mut take).await?;
    if ids.len() <= MOST_FOUND {
        Ok(doc! { "_id": { "$in": ids } })
    } else {
        Err(Error::Query {
            collection: core.meta().collection,
            message: format!(
                "more than {MOST_FOUND} documents match by this collation, which is not that of the collection, and documents \
             with relationships are first looked up by it, all at once: declare the collation for the collection, or \
             change fewer documents at a time"
            ),
        })
    }
}

/// The stored id that another collation than that of the collection takes for this one; the id itself where there is none.
///
/// # Errors
/// [`Error::Query`] where there are several.
pub(crate) async fn id_by_collation(
    core: &crate::store::core::Core,
    id: Bson,
    collation: mongodb::options::Collation,
) -> Result<Bson> {
    let mut ids: Vec<Bson> = Vec::new();
    let found = crate::Filter::raw(doc! { "_id": { "$eq": &id } });
    let found = crate::query::find::Query::new(core.clone(), found);
    let mut take = |document: &mongodb::bson::RawDocument| {
        let id = document.get("_id").ok().flatten();
        ids.extend(id.and_then(|id| Bson::try_from(id).ok()));
        Ok(())
    };
    found.ids(collation, 2, &mut take).await?;
    match ids.as_slice() {
        [] => Ok(id),
        [one] => Ok(one.clone()),
        [one, other, ..] => Err(Error::Query {
            collection: core.meta().collection,
            message: format!(
                "{id} matches the ids of several documents by this collation, among them {one} and {other}: give the stored id \
                 of one of them"
            ),
        }),
    }
}

/// The ids of the documents that are found by a condition that is asked once. `becomes` says what becomes of them.
pub(crate) async fn found(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    becomes: &str,
) -> Result<Vec<Bson>> {
    let found = scope
        .batch(meta, filter, Some(doc! { "_id": 1 }), MOST_FOUND)
        .await?;
    if found.more {
        return Err(Error::Query {
            collection: meta.collection,
            message: format!(
                "other documents depend on these, and at most {} can be {becomes} by a condition with `text` or `near`, or on \
                 fields that the operation itself changes: find them first, and select them by their ids",
                found.documents.len()
            ),
        });
    }
    Ok(ids(&found.documents))
}
