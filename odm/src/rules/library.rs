//! Updates by which the library itself changes references: it takes out those to deleted documents, writes the other side of a link, or
//! gives back what a write had replaced that is undone.
//!
//! To the application and to the other rules such an update is a change of the document like its own: the document's version is
//! raised, a link is counted, and the values that are derived of the changed fields follow.

use crate::Result;
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::graph::sync::is_atomic;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::VERSION;
use crate::plan::touches::{Touches, changed};
use crate::rules::bucket;
use crate::rules::link::count;
use crate::rules::pending::{record, record_for};
use crate::rules::rule::Effects;
use crate::store::fields::put;
use mongodb::bson::Document;

/// The meaning of an update by the library for the documents that it changes.
#[derive(Clone, Copy)]
pub(crate) struct LibraryUpdate<'g> {
    meta: &'static DocumentMeta,
    /// The reference that is taken out, since the documents that it names are gone: nothing is derived in them.
    gone: Option<&'g Edge>,
    /// Whether it is counted as a write of links.
    counts: bool,
    /// Whether it raises the version that the document declares.
    raises: bool,
}

impl<'g> LibraryUpdate<'g> {
    /// References to deleted documents are taken out.
    pub(crate) fn detachment(edge: &'g Edge) -> Self {
        LibraryUpdate {
            meta: edge.holder,
            gone: Some(edge),
            counts: edge.is_two_way(),
            raises: edge.is_two_way(),
        }
    }

    /// One side of a link is written with the other.
    pub(crate) fn link(meta: &'static DocumentMeta) -> Self {
        LibraryUpdate {
            meta,
            gone: None,
            counts: true,
            raises: true,
        }
    }

    /// A reference is made right. This is not counted as a write of links, so a reconciler looks at the link once more.
    pub(crate) fn repair(edge: &'g Edge) -> Self {
        LibraryUpdate {
            meta: edge.holder,
            gone: None,
            counts: false,
            raises: edge.is_two_way(),
        }
    }

    /// The same where documents are repaired that refer to missing ones.
    pub(crate) fn repaired_detachment(edge: &'g Edge) -> Self {
        LibraryUpdate {
            gone: Some(edge),
            ..LibraryUpdate::repair(edge)
        }
    }

    /// The same, but the documents keep the version that they declare.
    pub(crate) fn keeping_version(self) -> Self {
        LibraryUpdate {
            raises: false,
            ..self
        }
    }
}

impl Effects {
    /// Completes an update by the library, and has the work applied that it leaves pending. Returns the changed fields of which something
    /// is derived elsewhere: in a transaction they are to be [passed on](Effects::pass_on).
    pub(crate) fn complete(
        &mut self,
        graph: &Graph,
        rewrite: LibraryUpdate<'_>,
        update: &mut Document,
    ) -> Vec<String> {
        let meta = rewrite.meta;
        if rewrite.counts {
            count::count(update);
        }
        if rewrite.raises {
            count::raise_version(meta, update);
        }
        let mut fields = changed(update);
        fields.retain(|field| graph.is_read_but(meta, field, rewrite.gone));
        if fields.is_empty() {
            return fields;
        }
        put(update, "$inc", VERSION, 1_i64.into());
        if let Some(token) = self.pending().token_for(graph, meta) {
            fields.iter().for_each(|field| record_for(update, token, field));
            self.deferred.add(meta, token);
        }
        fields
    }

    /// Completes an update that gives a document references back that it had before, with the copies beside them. These have missed
    /// updates meanwhile, so all that is derived in the document and from it is pending. Returns the changed fields from which something
    /// is derived that is updated in the transaction of a write.
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) where a sum of a bucket's items is too great.
    pub(crate) fn give_back(
        &mut self,
        graph: &Graph,
        meta: &'static DocumentMeta,
        update: &mut Document,
    ) -> Result<Vec<String>> {
        if let Some(bucket) = meta.bucket {
            bucket::summarize_anew(bucket, update)?;
        }
        let mut fields = changed(update);
        fields.retain(|field| graph.is_read_in(|sync| is_atomic(sync, true), meta, field, None));
        let touches = Touches::of_statement(graph, meta, update)?;
        if touches.is_of_source {
            put(update, "$inc", VERSION, 1_i64.into());
        }
        if touches.affected.is_any() {
            record(update, self.later());
            self.deferred.add(meta, self.later());
        }
        Ok(fields)
    }
}
