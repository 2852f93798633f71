//! Derived values and the fields that they depend on: which references have copies beside them, which fields others read.

use crate::error::MissingTargets;
use crate::graph::Graph;
use crate::graph::edge::{CopyField, Derived, Edge};
use crate::model::copy::Consistency;
use crate::model::document::DocumentMeta;
use crate::model::key::as_stored;
use crate::model::meta::names::meet;
use crate::model::own_fields::COPIED;
use crate::model::shape::of_field;
use mongodb::bson::{Bson, Document, doc};

impl Edge {
    /// The consistency mode of the copies beside it: `None` where there are none, or all are snapshots.
    pub(crate) fn consistency(&self) -> Option<Consistency> {
        self.copies
            .iter()
            .map(|copy| copy.consistency)
            .find(|sync| *sync != Consistency::Snapshot)
    }

    /// The path of the key itself: in a union it stands beside a type.
    pub(crate) fn key_path(&self) -> String {
        if self.reference.union {
            format!("{}.id", self.path)
        } else {
            self.path.clone()
        }
    }

    /// The path of the version beside it.
    pub(crate) fn version_path(&self) -> String {
        self.beside(&format!("{COPIED}.{}", self.name()))
    }
}

impl Graph {
    /// The references of a document beside which copies are kept in sync.
    pub(crate) fn copying(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.kept(self.outgoing(meta))
    }

    /// The references by which others copy from a document.
    pub(crate) fn copied(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.kept(self.incoming(meta))
    }

    /// Those beside which this program keeps copies: others may declare them in another way.
    fn kept<'g>(
        &'g self,
        edges: impl Iterator<Item = &'g Edge> + Clone,
    ) -> impl Iterator<Item = &'g Edge> + Clone {
        let others = self.others();
        edges.filter(move |edge| {
            edge.consistency().is_some() && !others.as_ref().is_some_and(|others| others.copy(edge))
        })
    }

    /// Whether this program has something to do beside a write of such documents, or in them.
    pub(crate) fn has_a_part(&self, meta: &DocumentMeta) -> bool {
        self.copying(meta).next().is_some()
            || self.copied(meta).next().is_some()
            || self.derived_in(meta).next().is_some()
            || self.derived_from(meta).next().is_some()
    }

    /// Whether something is derived from this field of a document, or a claim depends on it.
    pub(crate) fn is_read(&self, meta: &DocumentMeta, field: &str) -> bool {
        self.is_read_but(meta, field, None)
    }

    /// Whether something is derived from this field of a document, in other documents than those that this reference names.
    pub(crate) fn is_read_but(&self, meta: &DocumentMeta, field: &str, but: Option<&Edge>) -> bool {
        self.is_read_in(|_| true, meta, field, but) || self.is_read_by_others(meta, field, but)
    }

    /// The same of values with these consistency modes that this program keeps in sync.
    pub(crate) fn is_read_in(
        &self,
        modes: impl Fn(Consistency) -> bool,
        meta: &DocumentMeta,
        field: &str,
        but: Option<&Edge>,
    ) -> bool {
        self.copied(meta)
            .flat_map(kept_in_sync)
            .any(|copy| modes(copy.consistency) && meet(copy.source, field))
            || self
                .derived_from(meta)
                .filter(|derived| {
                    modes(derived.consistency) && but.is_none_or(|edge| edge.id != derived.target.edge)
                })
                .any(|derived| derived.reads(self).iter().any(|name| meet(name, field)))
            || modes(Consistency::Atomic) && self.is_claimed_by(meta, field)
    }

    /// Whether something is derived of a document in those that this reference names.
    pub(crate) fn is_parent_edge(&self, edge: &Edge) -> bool {
        self.derived()
            .iter()
            .any(|derived| derived.target.edge == edge.id)
    }

    /// The same in such documents.
    pub(crate) fn is_parent_edge_of(&self, edge: &Edge, meta: &DocumentMeta) -> bool {
        self.derived_in(meta)
            .any(|derived| derived.target.edge == edge.id)
    }

    /// Whether children of such a document may exist before it, since no check asks for it when they are written, or when it is
    /// deleted.
    pub(crate) fn may_have_children(&self, meta: &DocumentMeta) -> bool {
        self.is_parent_of_others(meta)
            || self
                .derived_in(meta)
                .map(|derived| self.parent_edge(derived))
                .any(Edge::may_name_missing)
    }

    /// Whether something is derived elsewhere from such a document that is updated after a transaction.
    pub(crate) fn is_derived_later(&self, meta: &DocumentMeta) -> bool {
        let later = |consistency: Consistency| !is_atomic(consistency, true);
        self.copied(meta)
            .any(|edge| edge.consistency().is_some_and(later))
            || self.derived_from(meta).any(|derived| later(derived.consistency))
            || self.is_source_of_others(meta)
    }

    /// The reference by which a child names the parent of a derived field.
    pub(crate) fn parent_edge(&self, derived: &Derived) -> &Edge {
        &self[derived.target.edge]
    }
}

/// The copies beside a reference that are kept in sync with their source.
pub(crate) fn kept_in_sync(edge: &Edge) -> impl Iterator<Item = &CopyField> {
    edge.copies
        .iter()
        .filter(|copy| copy.consistency != Consistency::Snapshot)
}

/// Whether an edge with this mode is kept true in the transaction of the write.
pub(crate) fn is_atomic(consistency: Consistency, transactions: bool) -> bool {
    transactions && matches!(consistency, Consistency::Auto | Consistency::Atomic)
}

/// Whether the copies beside a reference are updated in the transaction of a write.
pub(crate) fn is_kept(edge: &Edge) -> bool {
    edge.consistency()
        .is_some_and(|consistency| is_atomic(consistency, true))
}

/// Whether a transaction that writes this reference locks its target, and finds out if it is missing.
pub(crate) fn is_locked(graph: &Graph, edge: &Edge) -> bool {
    let kept = |consistency: Consistency| is_atomic(consistency, true);
    edge.consistency().is_some_and(kept) && !graph.is_left(edge)
        || graph.derived().iter().any(|derived| {
            derived.target.edge == edge.id
                && kept(derived.consistency)
                && !graph.is_derived_by_others(derived)
        })
}

/// The error for references to documents of `target` that don't exist.
pub(crate) fn missing(edge: &Edge, target: &DocumentMeta, ids: Vec<Bson>) -> crate::Error {
    crate::Error::missing_references([missing_targets(edge, target, ids)])
}

/// The references of an edge to documents of `target` that don't exist, with values of the type that references are stored as.
pub(crate) fn missing_targets(edge: &Edge, target: &DocumentMeta, ids: Vec<Bson>) -> MissingTargets {
    let shape = target.field(edge.by()).map(of_field);
    let stored = |id: Bson| match shape {
        Some(shape) => as_stored(shape, id),
        None => id,
    };
    MissingTargets {
        collection: edge.holder.collection,
        field: edge.path.clone(),
        target: target.collection,
        ids: ids.into_iter().map(stored).collect(),
    }
}

/// The ids of documents and these references: a server takes no `_id` together with a part of it.
pub(crate) fn fields_of<'e>(edges: impl IntoIterator<Item = &'e Edge>) -> Document {
    let mut fields = doc! { "_id": 1 };
    for edge in edges {
        if edge.root() != "_id" {
            fields.insert(edge.path.as_str(), 1);
        }
    }
    fields
}

/// The snapshots beside a reference, with their places among its copies.
pub(crate) fn snapshots(edge: &Edge) -> impl Iterator<Item = (usize, &CopyField)> {
    let copies = edge.copies.iter().enumerate();
    copies.filter(|(_, copy)| copy.consistency == Consistency::Snapshot)
}

impl Graph {
    /// Whether something that is declared `consistency = atomic` is derived from such documents, directly or by way of others, or in them.
    pub(crate) fn leads_to_atomic(&self, meta: &DocumentMeta) -> bool {
        if !self.has_atomic {
            return false;
        }
        let mut seen: Vec<&str> = vec![meta.collection];
        let mut rest = vec![meta];
        while let Some(next) = rest.pop() {
            if self.needs_transactions(next).is_some() {
                return true;
            }
            let holders = self.copied(next).map(|edge| edge.holder);
            for further in holders.chain(self.derived_from(next).map(|derived| derived.parent)) {
                if !seen.contains(&further.collection) {
                    seen.push(further.collection);
                    rest.push(further);
                }
            }
        }
        false
    }

    /// The name of a copy in a document, or of it, that is declared `consistency = atomic`.
    pub(crate) fn needs_transactions(&self, meta: &DocumentMeta) -> Option<String> {
        let edge = |edge: &Edge| {
            let copy = edge
                .copies
                .iter()
                .find(|copy| copy.consistency == Consistency::Atomic)?;
            Some(format!("{}.{}", edge.holder.collection, edge.copy_path(copy)))
        };
        let derived =
            |derived: &Derived| (derived.consistency == Consistency::Atomic).then(|| derived.name());
        self.outgoing(meta)
            .chain(self.incoming(meta))
            .find_map(edge)
            .or_else(|| {
                self.derived_in(meta)
                    .chain(self.derived_from(meta))
                    .find_map(derived)
            })
    }

    /// Whether such documents have a version: others copy from them.
    pub(crate) fn has_versions(&self, meta: &DocumentMeta) -> bool {
        self.copied(meta).next().is_some() || self.is_source_of_others(meta)
    }
}
