//! The documents that a condition finds, by their ids, where an operation does not use the condition itself: in parts, since what is one
//! transaction has to end within the server's minute, and is kept in memory meanwhile; and where the condition compares by another
//! collation than that of the collection.

use crate::engine::write::attempt::MAX_DOCS_PER_TX;
use crate::model::document::DocumentMeta;
use crate::plan::operation::{DocumentById, Write, WriteKind};
use crate::plan::repeated::{follows_itself, is_asked_once, rest};
use crate::query::find::Query;
use crate::store::batch::{after_id, document_id, ids};
use crate::store::core::Core;
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::{Error, Filter, Result};
use mongodb::bson::{Bson, Document, RawDocument, doc};
use mongodb::options::Collation;

/// Maximum number of documents that one query returns here; more are refused.
const MOST_FOUND: usize = 100_000;

/// The documents that match a condition, in parts. A condition whose result the parts may change is evaluated before the first
/// one.
pub(crate) struct KeysetPages<'a> {
    cx: Cx<'a>,
    meta: &'static DocumentMeta,
    filter: Document,
    /// Where the condition is asked once: the ids that it has found and that are still to come.
    found: Option<std::vec::IntoIter<Bson>>,
    /// The id of the last document of the part before.
    last: Option<Bson>,
    more: bool,
}

impl<'a> KeysetPages<'a> {
    /// # Errors
    /// [`Error::Query`] where there are too many for a condition that is asked once.
    pub(crate) async fn open(
        cx: Cx<'a>,
        meta: &'static DocumentMeta,
        filter: Document,
    ) -> Result<KeysetPages<'a>> {
        let mut parts = KeysetPages {
            cx: cx.outside(),
            meta,
            filter,
            found: None,
            last: None,
            more: true,
        };
        let graph = cx.odm.graph();
        if is_asked_once(graph, meta, &parts.filter) || follows_itself(graph, meta, &parts.filter) {
            let filter = std::mem::take(&mut parts.filter);
            parts.filter = rest(graph, meta, &filter, follows_itself);
            let found = found(&parts.cx, meta, filter, "changed").await?;
            parts.found = Some(found.into_iter());
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
        let filter = match &self.last {
            Some(last) => all([after_id(self.meta, last), self.filter.clone()]),
            None => self.filter.clone(),
        };
        let batch = self
            .cx
            .batch(self.meta, filter, Some(doc! { "_id": 1 }), MAX_DOCS_PER_TX)
            .await?;
        self.more = batch.more;
        let Some(last) = batch.documents.last() else {
            return Ok(None);
        };
        self.last = Some(document_id(last));
        let part = doc! { "_id": { "$in": ids(&batch.documents) } };
        Ok(Some(all([part, self.filter.clone()])))
    }
}

/// Replaces a condition that has a collation of its own. Rules compare strings as the collection does, so the stored ids of the documents
/// take its place, for one id and where rules apply. Other conditions keep their collation.
///
/// # Errors
/// [`Error::Query`] where there are too many, where an id matches several, and for an upsert, which can't be named by an id.
pub(in crate::engine) async fn find_by_collation(cx: Cx<'_>, write: &mut Write) -> Result<()> {
    let meta = write.meta;
    let collation = match &mut write.what {
        WriteKind::Update(update) => &mut update.collation,
        WriteKind::UpdateMany(update) => &mut update.collation,
        WriteKind::Delete(delete) => &mut delete.collation,
        WriteKind::Insert(_) | WriteKind::Replace(_) => return Ok(()),
    };
    let Some(given) = collation.take() else {
        return Ok(());
    };
    // What removes documents for good finds deleted ones.
    let removes = matches!(&write.what, WriteKind::Delete(delete) if delete.removes);
    let of_removal = removes.then(|| cx.odm.with_deleted());
    let odm = of_removal.as_ref().unwrap_or(cx.odm);
    let core = Core::new(odm, meta, cx.session.cloned());
    let graph = cx.odm.graph();
    match &mut write.what {
        WriteKind::Update(update) => {
            if let Some(one) = &update.one {
                let id = id_by_collation(&core, one, given).await?;
                update.rename(id);
            }
        }
        WriteKind::UpdateMany(update)
            if graph.is_related(meta) || graph.is_depended_on(meta) || meta.has_hooks() =>
        {
            if update.upsert {
                return Err(Error::Query {
                    collection: meta.collection,
                    message: "an upsert of documents with relationships or hooks uses the collation of their collection: declare it there, \
                              with `#[document(collation(locale = \"…\"))]`"
                        .to_owned(),
                });
            }
            let found = by_collation(&core, std::mem::take(&mut update.condition), given).await?;
            **update = update.found(meta, found)?;
        }
        WriteKind::UpdateMany(update) => update.collation = Some(given),
        WriteKind::Delete(delete) => match &mut delete.one {
            Some(one) => {
                one.id = id_by_collation(&core, one, given).await?;
                delete.filter = one.filter(meta);
            }
            // A deletion that keeps its documents updates them by their ids.
            None if graph.has_deletion_rules(meta) || meta.soft_delete.is_some() => {
                let filter = std::mem::take(&mut delete.filter);
                delete.filter = by_collation(&core, filter, given).await?;
            }
            None => delete.collation = Some(given),
        },
        WriteKind::Insert(_) | WriteKind::Replace(_) => {}
    }
    Ok(())
}

/// The condition of the documents that a condition finds by another collation than that of their collection: their ids. What the
/// rules of the library ask of documents is asked by the collation of their collection, so they are named by these.
///
/// # Errors
/// [`Error::Query`] where there are too many.
async fn by_collation(core: &Core, filter: Document, collation: Collation) -> Result<Document> {
    let limit = MOST_FOUND as i64 + 1;
    let mut ids: Vec<Bson> = Vec::new();
    let found = Query::new(core.clone(), Filter::raw(filter));
    let mut take = |document: &RawDocument| {
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
async fn id_by_collation(core: &Core, one: &DocumentById, collation: Collation) -> Result<Bson> {
    let id = &one.id;
    let mut ids: Vec<Bson> = Vec::new();
    let found = Filter::raw(one.place());
    let found = Query::new(core.clone(), found);
    let mut take = |document: &RawDocument| {
        let id = document.get("_id").ok().flatten();
        ids.extend(id.and_then(|id| Bson::try_from(id).ok()));
        Ok(())
    };
    found.ids(collation, 2, &mut take).await?;
    match ids.as_slice() {
        [] => Ok(id.clone()),
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
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    becomes: &str,
) -> Result<Vec<Bson>> {
    let found = cx
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
