//! The derived values that a write affects: worked out without a question to the server.

use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::graph::sync::{is_atomic, kept_in_sync};
use crate::model::copy::SyncMode;
use crate::model::document::DocumentMeta;
use crate::model::names::meet;
use crate::model::reference::OnDelete;

/// Whether a write affects derived values, by the time at which they are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Affected {
    /// Some in the write's transaction, where the deployment has transactions.
    pub(crate) atomic: bool,
    /// Some after the write.
    pub(crate) eventual: bool,
}

impl Affected {
    fn add(&mut self, sync: SyncMode) {
        if is_atomic(sync, true) {
            self.atomic = true
        } else {
            self.eventual = true
        }
    }

    fn add_copies(&mut self, edge: &Edge) {
        self.add(edge.sync().unwrap_or(SyncMode::Auto));
    }

    pub(crate) fn or(self, other: Affected) -> Affected {
        Affected {
            atomic: self.atomic || other.atomic,
            eventual: self.eventual || other.eventual,
        }
    }

    pub(crate) fn is_any(self) -> bool {
        self.atomic || self.eventual
    }

    /// Whether work is pending after the write.
    pub(crate) fn leaves_work(self, transactions: bool) -> bool {
        self.eventual || self.atomic && !transactions
    }

    /// By a new document.
    pub(crate) fn by_insert(graph: &Graph, meta: &DocumentMeta) -> Affected {
        let mut affected = Affected::default();
        graph.copying(meta).for_each(|edge| affected.add_copies(edge));
        graph
            .derived_from(meta)
            .for_each(|derived| affected.add(derived.sync));
        // Something may have copied from a document with this id that was there before.
        let keeps = |edge: &&Edge| edge.reference.on_delete == OnDelete::Keep || !edge.reference.check;
        graph
            .copied(meta)
            .filter(keeps)
            .for_each(|edge| affected.add_copies(edge));
        affected.eventual |= graph.is_for_others(meta);
        affected
    }

    /// By any change of a document.
    pub(crate) fn by_replacement(graph: &Graph, meta: &DocumentMeta) -> Affected {
        let mut affected = Affected::by_insert(graph, meta);
        graph.copied(meta).for_each(|edge| affected.add_copies(edge));
        affected
    }

    /// By the deletion of a document.
    pub(crate) fn by_delete(graph: &Graph, meta: &DocumentMeta) -> Affected {
        let mut affected = Affected::default();
        graph
            .derived_from(meta)
            .for_each(|derived| affected.add(derived.sync));
        affected.eventual |= graph.is_child_of_others(meta);
        affected
    }

    /// By a change of these fields of a document.
    pub(super) fn by_change(graph: &Graph, meta: &DocumentMeta, names: &[&str]) -> Affected {
        let mut affected = Affected::default();
        if !graph.takes_part(meta) {
            return affected;
        }
        let changes = |field: &str| names.iter().any(|name| meet(name, field));
        let own = graph.copying(meta).filter(|edge| changes(&edge.path));
        own.for_each(|edge| affected.add_copies(edge));
        let elsewhere = graph
            .copied(meta)
            .filter(|edge| kept_in_sync(edge).any(|copy| changes(copy.source)));
        elsewhere.for_each(|edge| affected.add_copies(edge));
        let derived = graph
            .derived_from(meta)
            .filter(|derived| derived.reads(graph).iter().any(|name| changes(name)));
        derived.for_each(|derived| affected.add(derived.sync));
        if graph.others().is_some() {
            let mut left = graph.outgoing(meta).filter(|edge| graph.is_left(edge));
            affected.eventual |= left.any(|edge| changes(&edge.path))
                || names.iter().any(|name| graph.is_read_by_others(meta, name, None));
        }
        affected
    }

    /// Whether a change of these fields changes what others copy.
    pub(super) fn changes_source(graph: &Graph, meta: &DocumentMeta, names: &[&str]) -> bool {
        let mut copies = graph.copied(meta).flat_map(kept_in_sync);
        copies.any(|copy| names.iter().any(|name| meet(name, copy.source)))
            || names.iter().any(|name| graph.is_read_by_others(meta, name, None))
    }
}
