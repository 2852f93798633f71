//! Which derived fields a write affects: worked out from its changes, without a question to the server.

use crate::model::copy::SyncMode;
use crate::model::document::DocumentMeta;
use crate::model::graph::Graph;
use crate::model::graph::sync::is_atomic;
use crate::model::names::meet;
use crate::model::names::plain_name;
use crate::model::reference::OnDelete;
use mongodb::bson::{Bson, Document};

/// Which derived fields a write affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Concern {
    /// Some are updated in the write's transaction.
    pub(crate) atomic: bool,
    /// Some of the work is pending after the write.
    pub(crate) eventual: bool,
}

impl Concern {
    fn add(&mut self, sync: SyncMode, transactions: bool) {
        match is_atomic(sync, transactions) {
            true => self.atomic = true,
            false => self.eventual = true,
        }
    }

    pub(crate) fn or(self, other: Concern) -> Concern {
        Concern {
            atomic: self.atomic || other.atomic,
            eventual: self.eventual || other.eventual,
        }
    }

    pub(crate) fn is_any(self) -> bool {
        self.atomic || self.eventual
    }
}

/// The derived fields that a new document affects.
pub(crate) fn of_insert(graph: &Graph, meta: &DocumentMeta, transactions: bool) -> Concern {
    let mut concern = Concern::default();
    for edge in graph.copying(meta) {
        concern.add(edge.sync().unwrap_or(SyncMode::Auto), transactions);
    }
    for derived in graph.derived_from(meta) {
        concern.add(derived.sync, transactions);
    }
    // Something may have copied from a document with this id that was there before.
    for edge in graph.copied(meta) {
        if edge.reference.on_delete == OnDelete::Keep || !edge.reference.check {
            concern.add(edge.sync().unwrap_or(SyncMode::Auto), transactions);
        }
    }
    concern.eventual |= graph.is_for_others(meta);
    concern
}

/// The derived fields that any change of a document may affect.
pub(crate) fn of_any(graph: &Graph, meta: &DocumentMeta, transactions: bool) -> Concern {
    let mut concern = of_insert(graph, meta, transactions);
    for edge in graph.copied(meta) {
        concern.add(edge.sync().unwrap_or(SyncMode::Auto), transactions);
    }
    concern
}

/// The derived fields that the deletion of a document affects.
pub(crate) fn of_delete(graph: &Graph, meta: &DocumentMeta, transactions: bool) -> Concern {
    let mut concern = Concern::default();
    for derived in graph.derived_from(meta) {
        concern.add(derived.sync, transactions);
    }
    concern.eventual |= graph.is_child_of_others(meta);
    concern
}

/// The names of the fields that an update changes, without positions.
pub(crate) fn changed(update: &Document) -> Vec<String> {
    let mut names = Vec::new();
    for (operator, fields) in update {
        let Bson::Document(fields) = fields else { continue };
        for (name, value) in fields {
            names.push(plain_name(name));
            if operator == "$rename" {
                names.extend(value.as_str().map(plain_name));
            }
        }
    }
    names
}

/// The fields that an update changes, and the copies beside the references among them: they change with these, and others may
/// copy them in turn.
pub(crate) fn changed_with_copies(graph: &Graph, meta: &DocumentMeta, update: &Document) -> Vec<String> {
    let mut names = changed(update);
    let referring = graph.copying(meta);
    let beside: Vec<String> = referring
        .filter(|edge| names.iter().any(|name| meet(name, &edge.path)))
        .flat_map(|edge| edge.copies.iter().map(|copy| edge.copy_path(copy)))
        .collect();
    names.extend(beside);
    names
}

/// The derived fields that an update affects.
pub(crate) fn of_update(
    graph: &Graph,
    meta: &DocumentMeta,
    update: &Document,
    transactions: bool,
) -> Concern {
    let mut concern = Concern::default();
    if !graph.takes_part(meta) {
        return concern;
    }
    let names = changed_with_copies(graph, meta, update);
    for edge in graph.copying(meta) {
        if names.iter().any(|name| meet(name, &edge.path)) {
            concern.add(edge.sync().unwrap_or(SyncMode::Auto), transactions);
        }
    }
    let touches = |field: &str| names.iter().any(|name| meet(name, field));
    for edge in graph.copied(meta) {
        let mut copies = edge.copies.iter();
        if copies.any(|copy| copy.sync != SyncMode::Snapshot && touches(copy.source)) {
            concern.add(edge.sync().unwrap_or(SyncMode::Auto), transactions);
        }
    }
    for derived in graph.derived_from(meta) {
        if derived.reads(graph).iter().any(|name| touches(name)) {
            concern.add(derived.sync, transactions);
        }
    }
    if graph.others().is_some() {
        let mut left = graph.outgoing(meta).filter(|edge| graph.is_left(edge));
        concern.eventual |= left.any(|edge| touches(&edge.path))
            || names.iter().any(|name| graph.is_read_by_others(meta, name, None));
    }
    concern
}

/// Whether an update changes what others copy, so that the version has to grow.
pub(crate) fn is_source_of(graph: &Graph, meta: &DocumentMeta, update: &Document) -> bool {
    let names = changed(update);
    let mut copies = graph.copied(meta).flat_map(|edge| &edge.copies);
    copies.any(|copy| copy.sync != SyncMode::Snapshot && names.iter().any(|name| meet(name, copy.source)))
        || names.iter().any(|name| graph.is_read_by_others(meta, name, None))
}
