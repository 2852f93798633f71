//! Keeps copies in sync: fields copied through references, subsets, computed fields.
//!
//! One mechanism serves all of them. A write that can affect a copy records pending work in the documents that it writes, in
//! the same atomic write (`_odm.pending`); then the work is applied, and only then cleared, unless a later write has recorded
//! more. Applying it means the same for every kind of write:
//!
//! - the document's own copies are compared with their sources again,
//! - copies of it in other documents are updated, with its version, where they have an older one,
//! - the fields that its parents derive from it are derived again.
//!
//! A child that leaves a parent does not refer to it any more, so the parent's fields are derived again in the transaction that
//! takes the child away, or its own pending work says so: see `orphans`. On a standalone server, which has no transactions,
//! that is a second statement after the write.
//!
//! Each of these can be done twice, by several processes at once and in any order, so any process that finds pending work may
//! apply it: the writer, or [`recover`](crate::Odm::recover) after the writer has ended. Where the deployment has transactions
//! and the copies are not declared eventual, the same is done within one transaction, in which nothing needs to be written down
//! but what it modifies: it locks the sources that it copies from and the parents that it changes by modifying them, so that of
//! two writers that could miss each other one waits.

mod apply;
pub(crate) mod backfill;
mod children;
mod concern;
mod declaration;
mod deliver;
mod each;
mod fill;
mod images;
mod inspect;
mod lease;
mod looked;
mod newest;
mod orphans;
mod others;
mod pending;
mod place;
pub(crate) mod reconcile;
pub(crate) mod recover;
mod snapshots;
pub(crate) mod stored;

pub(super) use apply::{Beside, Own, Propagation, delete_after_draining, mark_gone, record_all};
pub(crate) use apply::{DeferredWork, drain, drain_any};
pub(super) use apply::{drain_all, drained_or_logged, log_undrained};
pub(crate) use concern::Concern;
use concern::changed;
pub(super) use each::{Written, update as update_each};
pub(crate) use fill::{
    Filled, Inserts, demanded, fill_insert, fill_replace, fill_update, from_condition, with_all_pending,
};
pub(super) use fill::{again, beside, given_back, is_gone, needed};
pub(super) use images::{Before, concern, relinks};
pub(super) use inspect::{Kept, buckets};
pub(crate) use looked::Looked;
pub(crate) use newest::order as order_of;
pub use others::backfill_at_once;
pub(crate) use others::{Age, Known as KnownOthers};
pub(crate) use pending::record as record_all_pending;
use pending::{ChangedFields, record_for};
pub(super) use recover::but_for_the_deployment;
pub(crate) use stored::Unknown;

use super::graph::{CopyField, Derived, Edge, Graph};
use crate::model::copy::SyncMode;
use crate::model::document::DocumentMeta;
use crate::model::names::meet;
use crate::model::reference::OnDelete;
use crate::own_fields::{COPIED, VERSION};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, Document, RawDocument, doc};

/// The token of pending work: all work of one operation has the same.
pub(crate) type Token = ObjectId;

/// The copies beside a reference that are kept in sync with their source.
pub(super) fn kept_in_sync(edge: &Edge) -> impl Iterator<Item = &CopyField> {
    edge.copies.iter().filter(|copy| copy.sync != SyncMode::Snapshot)
}

/// The pending work that is recorded in a document whose change is passed on to others.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum PendingWork {
    /// Everything is applied after the write.
    All(Token),
    /// The write is in a transaction, which applies everything but the eventual part.
    Later(Token),
}

impl PendingWork {
    fn of(self, graph: &Graph, meta: &DocumentMeta) -> Option<Token> {
        match self {
            PendingWork::All(token) => Some(token),
            PendingWork::Later(token) => graph.is_derived_later(meta).then_some(token),
        }
    }
}

impl From<Token> for PendingWork {
    fn from(token: Token) -> PendingWork {
        PendingWork::All(token)
    }
}

impl Edge {
    /// The consistency mode of the copies beside it: `None` where there are none, or all are snapshots.
    pub(crate) fn sync(&self) -> Option<SyncMode> {
        self.copies
            .iter()
            .map(|copy| copy.sync)
            .find(|sync| *sync != SyncMode::Snapshot)
    }

    /// The path of the key itself: in a union it stands beside a type.
    pub(super) fn key_path(&self) -> String {
        match self.reference.union {
            true => format!("{}.id", self.path),
            false => self.path.clone(),
        }
    }

    /// The path of the version beside it.
    pub(super) fn version_path(&self) -> String {
        self.beside(&format!("{COPIED}.{}", self.name()))
    }
}

/// Whether an edge with this mode is kept true in the transaction of the write.
pub(super) fn is_atomic(sync: SyncMode, transactions: bool) -> bool {
    transactions && matches!(sync, SyncMode::Auto | SyncMode::Atomic)
}

impl Graph {
    /// The references of a document beside which copies are kept in sync.
    pub(in super::super) fn copying(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.kept(self.outgoing(meta))
    }

    /// The references by which others copy from a document.
    pub(in super::super) fn copied(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.kept(self.incoming(meta))
    }

    /// Those beside which this program keeps copies: others may declare them in another way.
    fn kept<'g>(
        &'g self,
        edges: impl Iterator<Item = &'g Edge> + Clone,
    ) -> impl Iterator<Item = &'g Edge> + Clone {
        let others = self.others();
        edges.filter(move |edge| {
            edge.sync().is_some() && !others.as_ref().is_some_and(|others| others.copy(edge))
        })
    }

    /// Whether this program has something to do beside a write of such documents, or in them.
    pub(in super::super) fn has_a_part(&self, meta: &DocumentMeta) -> bool {
        self.copying(meta).next().is_some()
            || self.copied(meta).next().is_some()
            || self.derived_in(meta).next().is_some()
            || self.derived_from(meta).next().is_some()
    }

    /// Whether something is derived from this field of a document.
    pub(in super::super) fn is_read(&self, meta: &DocumentMeta, field: &str) -> bool {
        self.is_read_but(meta, field, None)
    }

    /// Whether something is derived from a reference as from any other field: it is copied, or a condition of what is derived
    /// in other documents than its targets.
    pub(super) fn is_read_as_value(&self, edge: &Edge) -> bool {
        self.is_read_but(edge.holder, &edge.path, Some(edge))
    }

    /// Whether something is derived from this field of a document, in other documents than those that this reference names.
    fn is_read_but(&self, meta: &DocumentMeta, field: &str, but: Option<&Edge>) -> bool {
        self.copied(meta)
            .flat_map(kept_in_sync)
            .any(|copy| meet(copy.source, field))
            || self
                .derived_from(meta)
                .filter(|derived| but.is_none_or(|edge| edge.at != derived.edge))
                .any(|derived| derived.reads(self).iter().any(|name| meet(name, field)))
            || self.is_read_by_others(meta, field, but)
    }

    /// The part of an update by the library that passes on its changes: it raises the version, and records pending work for the
    /// fields that are derived from the changed ones, except in documents that do not exist any more: those that this reference
    /// names. Returns whether it records any.
    pub(super) fn note(
        &self,
        meta: &DocumentMeta,
        update: &mut Document,
        but: Option<&Edge>,
        pending: PendingWork,
    ) -> bool {
        let mut names = changed(update);
        names.retain(|name| self.is_read_but(meta, name, but));
        if names.is_empty() {
            return false;
        }
        put(update, "$inc", VERSION, 1_i64.into());
        if let Some(token) = pending.of(self, meta) {
            names.iter().for_each(|name| record_for(update, token, name));
        }
        true
    }

    /// Whether something is derived of a document in those that this reference names.
    pub(super) fn is_parent_edge(&self, edge: &Edge) -> bool {
        self.derived().iter().any(|derived| derived.edge == edge.at)
    }

    /// The same in such documents.
    pub(super) fn is_parent_edge_of(&self, edge: &Edge, meta: &DocumentMeta) -> bool {
        self.derived_in(meta).any(|derived| derived.edge == edge.at)
    }

    /// Whether children of such a document may exist before it, since no check asks for it when they are written, or when it is
    /// deleted.
    pub(super) fn may_have_children(&self, meta: &DocumentMeta) -> bool {
        self.is_parent_of_others(meta)
            || self
                .derived_in(meta)
                .filter_map(|derived| self.parent_edge(derived))
                .any(|edge| !edge.reference.check || edge.reference.on_delete == OnDelete::Keep)
    }

    /// The update's part that passes a change of a derived field on, where others are derived from it: it raises its version,
    /// and records pending work for the fields that are derived from it.
    fn passed_on(
        &self,
        meta: &DocumentMeta,
        field: &str,
        pending: PendingWork,
        update: &mut Document,
    ) -> bool {
        if !self.is_read(meta, field) {
            return false;
        }
        put(update, "$inc", VERSION, 1_i64.into());
        if let Some(token) = pending.of(self, meta) {
            record_for(update, token, field);
        }
        true
    }

    /// Whether something is derived elsewhere from such a document that is updated after a transaction.
    pub(super) fn is_derived_later(&self, meta: &DocumentMeta) -> bool {
        let later = |sync: SyncMode| !is_atomic(sync, true);
        self.copied(meta).any(|edge| edge.sync().is_some_and(later))
            || self.derived_from(meta).any(|derived| later(derived.sync))
            || self.is_source_of_others(meta)
    }

    /// Whether something that is declared `sync = atomic` is derived from such documents, directly or by way of others, or in them.
    pub(in super::super) fn leads_to_atomic(&self, meta: &DocumentMeta) -> bool {
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

    /// The reference by which a child names the parent of a derived field.
    pub(super) fn parent_edge(&self, derived: &Derived) -> Option<&Edge> {
        self.edge(derived.edge)
    }
}

/// The error for references to documents of `target` that don't exist.
fn missing(edge: &Edge, target: &DocumentMeta, ids: Vec<Bson>) -> crate::Error {
    crate::Error::MissingReference {
        collection: edge.holder.collection,
        field: edge.path.clone(),
        target: target.collection,
        ids,
    }
}

/// Whether a transaction that writes this reference locks its target, and finds out if it is missing.
pub(super) fn is_held(graph: &Graph, edge: &Edge) -> bool {
    let kept = |sync: SyncMode| is_atomic(sync, true);
    edge.sync().is_some_and(kept) && !graph.is_left(edge)
        || graph.derived().iter().any(|derived| {
            derived.edge == edge.at && kept(derived.sync) && !graph.is_derived_by_others(derived)
        })
}

/// The name of a field in an update, without the positions in arrays.
pub(super) fn plain_name(name: &str) -> String {
    let is_position = |part: &&str| part.starts_with('$') || part.bytes().all(|b| b.is_ascii_digit());
    name.split('.')
        .enumerate()
        .filter(|(at, part)| *at == 0 || !is_position(part))
        .map(|(_, part)| part)
        .collect::<Vec<_>>()
        .join(".")
}

/// Adds a field to an operator of an update.
pub(super) fn put(update: &mut Document, operator: &str, name: &str, value: Bson) {
    let entry = update
        .entry(operator.to_owned())
        .or_insert_with(|| Document::new().into());
    if let Bson::Document(fields) = entry {
        fields.insert(name, value);
    }
}

/// The value at a dotted name.
pub(super) fn at<'d>(document: &'d RawDocument, name: &str) -> Option<mongodb::bson::RawBsonRef<'d>> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?).ok()??;
    for part in parts {
        value = value.as_document()?.get(part).ok()??;
    }
    Some(value)
}

/// The same as a whole number; 0 where there is none.
pub(super) fn number(document: &RawDocument, name: &str) -> i64 {
    match at(document, name) {
        Some(mongodb::bson::RawBsonRef::Int64(n)) => n,
        Some(mongodb::bson::RawBsonRef::Int32(n)) => n.into(),
        Some(mongodb::bson::RawBsonRef::Double(n)) => n as i64,
        _ => 0,
    }
}

/// The condition that a whole number is this one, where a missing one is 0.
pub(super) fn is_number(n: i64) -> Bson {
    match n {
        0 => doc! { "$in": [0_i64, Bson::Null] }.into(),
        n => n.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_no_part_of_a_name() {
        assert_eq!(plain_name("parts.$[e0].name"), "parts.name");
        assert_eq!(plain_name("parts.3.name"), "parts.name");
        assert_eq!(plain_name("name"), "name");
    }
}
