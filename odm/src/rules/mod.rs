//! What writes have to keep true, a folder or file a rule: references exist, deletions, two-way links, copies, values of children, buckets,
//! claims of unique values.
//!
//! The rules by which values in other documents are kept in sync implement [`SyncRule`](rule::Rule), and [`all`] lists them. The engine calls them in
//! that order, and names none of them (but for pushes into buckets, `engine/bucket.rs`). That references exist, the other side of links and the decisions of deletions are no
//! `Rule`s: each has steps of its own.
//!
//! # Values that are kept in sync
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
//! takes the child away, or its own pending work says so: see `children::orphans`. On a standalone server, which has no transactions,
//! that is a second statement after the write.
//!
//! Each of these can be done twice, by several processes at once and in any order, so any process that finds pending work may
//! apply it: the writer, or [`recover`](crate::Odm::recover) after the writer has ended. Where the deployment has transactions
//! and the copies are not declared eventual, the write and its updates commit together. A mark is stored only where a change
//! has too many holders for one transaction, meets other writes again and again, or a child comes before its parent. The transaction
//! modifies each source that it copies from and each parent that it changes, so a concurrent writer of one of them waits or is retried.

pub(crate) mod bucket;
pub(crate) mod children;
pub(crate) mod claims;
pub(crate) mod copy;
pub(crate) mod derived;
pub(crate) mod exists;
pub(crate) mod lease;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod on_delete;
pub(crate) mod others;
pub(crate) mod pending;
pub(crate) mod rule;

use crate::graph::declaration::Declaration;
use crate::graph::{Graph, declared};
use crate::model::document::DocumentMeta;
use crate::model::own_fields::OWN;
use crate::rules::derived::DerivedValue;
use crate::rules::rule::SyncRule;
use mongodb::bson::{Bson, Document, doc};
use std::collections::HashSet;

/// The rules by which values are kept in sync, in the order in which they are applied: copies come before values of children, because
/// a parent may derive from a copied field. The others depend on no other.
pub(crate) fn all() -> [&'static dyn SyncRule; 5] {
    [
        &link::count::Counting,
        &bucket::Summarizing,
        &copy::rule::Copying,
        &children::rule::Deriving,
        &claims::Claiming,
    ]
}

/// All values of a graph that are kept in sync.
pub(crate) fn values(graph: &Graph) -> impl Iterator<Item = Box<dyn DerivedValue + '_>> {
    all().into_iter().flat_map(|rule| rule.values(graph))
}

/// All declarations, as they are stored: those of derived values, both sides of two-way references, each derived of the other one, the
/// rules of references without copies, and which deletions keep documents.
pub(crate) fn declarations(graph: &Graph) -> impl Iterator<Item = Declaration> {
    let linked = declared::linked(graph).filter_map(|edge| declared::two_way(graph, edge));
    let ruled = graph.edges().iter().flat_map(|edge| declared::ruled(graph, edge));
    values(graph)
        .map(|value| value.declaration(graph))
        .chain(linked)
        .chain(ruled)
        .chain(declared::soft_deleted(graph))
}

/// The fields of a document that rules read where it is changed, and the library's own.
pub(crate) fn needed(graph: &Graph, meta: &DocumentMeta) -> Document {
    let mut names: HashSet<String> = HashSet::new();
    all().iter().for_each(|rule| rule.fields(graph, meta, &mut names));
    let mut fields = doc! { "_id": 1, OWN: 1 };
    fields.extend(names.into_iter().map(|name| (name, Bson::Int32(1))));
    fields
}
