//! The count of link writes ([`LINKS`]): how often the library has linked or unlinked a document with two-way references.

use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::{LINKS, name_of};
use crate::rules::derived::DerivedValue;
use crate::rules::rule::{MetaRef, NewDocuments, Replacing, RuleStep, SyncRule, Updating};
use crate::store::cx::Cx;
use crate::store::fields;
use crate::store::fields::put;
use futures::future::FutureExt;
use mongodb::bson::{Document, RawDocumentBuf, doc};

/// The rule of the count: a write that links or unlinks a document counts itself in it.
pub(crate) struct Counting;

impl SyncRule for Counting {
    fn values<'g>(&self, _: &'g Graph) -> Vec<Box<dyn DerivedValue + 'g>> {
        Vec::new()
    }

    fn fill_new<'s>(&'s self, cx: &'s Cx<'_>, meta: MetaRef, new: &'s mut NewDocuments<'_>) -> RuleStep<'s> {
        async move {
            if cx.odm.graph().is_linked(meta) {
                new.own.insert(name_of(LINKS), 1_i64);
            }
            Ok(())
        }
        .boxed()
    }

    fn fill_update<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        updating: &'s mut Updating<'_>,
    ) -> RuleStep<'s> {
        async move {
            let graph = cx.odm.graph();
            if updating.touches.links(graph) {
                count(updating.update);
            } else if updating.upsert && graph.is_linked(meta) {
                // An upsert that finds a document does not link it, and does not write to it for that.
                put(updating.update, "$setOnInsert", LINKS, 1_i64.into());
            }
            Ok(())
        }
        .boxed()
    }

    fn fill_replacement<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        replacing: &'s mut Replacing<'_>,
    ) -> RuleStep<'s> {
        async move {
            if cx.odm.graph().is_linked(meta) {
                let writes = doc! { "$add": [{ "$ifNull": [format!("${LINKS}"), 0_i64] }, 1_i64] };
                replacing.own.insert(name_of(LINKS), writes);
            }
            Ok(())
        }
        .boxed()
    }
}

/// The part of an update that counts it as a write of links.
pub(crate) fn count(update: &mut Document) {
    put(update, "$inc", LINKS, 1_i64.into());
}

/// The part of an update from the other side of a two-way reference that raises the version of the document. A link is a field of
/// both documents: a replacement by an older version must not write the field back.
///
/// The update's filter matches only documents in which the link changes.
pub(crate) fn raise_version(meta: &DocumentMeta, update: &mut Document) {
    if let Some(version) = meta.version() {
        put(update, "$inc", version, 1_i64.into());
    }
}

/// How many writes had linked or unlinked a document when it was read.
pub(crate) fn writes(document: &RawDocumentBuf) -> i64 {
    fields::number(document, LINKS)
}
