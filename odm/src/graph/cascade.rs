//! The consequences of a deletion for other documents.

use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::DocumentMeta;
use crate::model::reference::OnDelete;

impl Graph {
    /// The types of the documents that may be deleted with one of this type, by references with `cascade` for which `follows` holds: the
    /// nearest first.
    pub(crate) fn cascades(
        &self,
        meta: &DocumentMeta,
        follows: impl Fn(&Edge) -> bool,
    ) -> Vec<&'static DocumentMeta> {
        let mut all: Vec<&'static DocumentMeta> = Vec::new();
        let mut next: Option<&DocumentMeta> = Some(meta);
        let mut reached = 0;
        while let Some(meta) = next {
            for edge in self.incoming(meta) {
                let is_known = || all.iter().any(|known| known.collection == edge.holder.collection);
                if edge.reference.on_delete == OnDelete::Cascade && follows(edge) && !is_known() {
                    all.push(edge.holder);
                }
            }
            next = all.get(reached).copied();
            reached += 1;
        }
        all
    }

    /// Whether the deletion of such a document means anything to others, frees a claim, or calls its hooks.
    pub(crate) fn has_deletion_rules(&self, meta: &DocumentMeta) -> bool {
        meta.has_hooks()
            || self.derived_from(meta).next().is_some()
            || self.is_child_of_others(meta)
            || self.is_claimed(meta)
            || self
                .incoming(meta)
                .any(|edge| edge.reference.on_delete != OnDelete::Keep)
    }
}
