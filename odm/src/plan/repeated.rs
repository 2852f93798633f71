//! Conditions that an operation in several parts evaluates again for each part: whether the parts before may have changed their answer.
use crate::graph::Graph;
use crate::graph::edge::{Edge, ReferenceTarget};
use crate::graph::is;
use crate::model::meta::DocumentMeta;
use crate::model::meta::OnDelete;
use crate::model::meta::names::meet;
use crate::plan::operators::implied::combines;
use crate::store::filter::{all, named_id};
use mongodb::bson::Bson;
use mongodb::bson::Document;
use mongodb::bson::doc;

/// Whether a condition has another answer after a part of the operation: it can't stand beside another one, or is on what is
/// derived of the documents themselves.
pub(crate) fn is_asked_once(graph: &Graph, meta: &DocumentMeta, filter: &Document) -> bool {
    let computes = || computes(filter) && graph.derived_in(meta).next().is_some();
    !combines(filter) || graph.is_derived_by(meta, filter) || computes()
}

/// Whether a write of documents of this type may change what the condition reads of others of them.
pub(crate) fn follows_itself(graph: &Graph, meta: &'static DocumentMeta, filter: &Document) -> bool {
    // What follows from such documents is derived in the documents of these collections.
    let mut reached = vec![meta];
    let mut at = 0;
    while let Some(from) = reached.get(at).copied() {
        at += 1;
        let holders = graph.copied(from).map(|edge| edge.holder);
        for next in holders.chain(graph.derived_from(from).map(|derived| derived.parent)) {
            if !reached.iter().any(|known| is(known, next)) {
                reached.push(next);
            }
        }
    }
    let follows = |edge: &Edge| {
        edge.targets
            .iter()
            .any(|target| reached.iter().any(|one| is(one, target.meta)))
    };
    let reads = |path: &str| reads(filter, path);
    // Of one document that is named by its id no part is written before it.
    let version = meta.version().filter(|_| named_id(filter).is_none());
    graph
        .copying(meta)
        .filter(|edge| follows(edge))
        .any(|edge| edge.copies.iter().any(|copy| reads(&edge.copy_path(copy))))
        || graph
            .outgoing(meta)
            .filter(|edge| edge.is_two_way() && edge.target(meta).is_some())
            .any(|edge| reads(&edge.path) || version.is_some_and(reads))
}

/// Whether the deletion of documents of this type may change what the condition reads of others of them: their references to
/// what goes are emptied, and to what goes with it.
pub(crate) fn empties_itself(graph: &Graph, meta: &'static DocumentMeta, filter: &Document) -> bool {
    if follows_itself(graph, meta, filter) {
        return true;
    }
    let mut gone = graph.cascades(meta, |_| true);
    gone.push(meta);
    let empties = |edge: &&Edge| {
        let detaches = matches!(edge.reference.on_delete, OnDelete::Nullify | OnDelete::Pull);
        let goes = |target: &ReferenceTarget| gone.iter().any(|one| is(one, target.meta));
        (detaches || edge.is_two_way()) && edge.targets.iter().any(goes)
    };
    graph.outgoing(meta).filter(empties).any(|edge| {
        let mut beside = edge.copies.iter().map(|copy| edge.copy_path(copy));
        let version = meta
            .version()
            .filter(|_| edge.is_two_way() && named_id(filter).is_none());
        reads(filter, &edge.path)
            || version.is_some_and(|version| reads(filter, version))
            || beside.any(|path| reads(filter, &path))
    })
}

/// Whether a condition asks for this field, or may do so.
fn reads(filter: &Document, path: &str) -> bool {
    let mut names = Vec::new();
    crate::graph::fields_of(filter, &mut names);
    computes(filter) || names.iter().any(|name| meet(name, path))
}

/// Whether a condition holds an expression, which may read anything.
fn computes(filter: &Document) -> bool {
    filter.iter().any(|(name, value)| match value {
        _ if matches!(name.as_str(), "$expr" | "$where") => true,
        Bson::Document(inner) => computes(inner),
        Bson::Array(items) => items.iter().filter_map(Bson::as_document).any(computes),
        _ => false,
    })
}

/// The parts of a condition that can be evaluated again, where the whole condition is evaluated once.
pub(crate) fn rest(
    graph: &Graph,
    meta: &'static DocumentMeta,
    filter: &Document,
    changes: fn(&Graph, &'static DocumentMeta, &Document) -> bool,
) -> Document {
    let stands = |part: &Document| !is_asked_once(graph, meta, part) && !changes(graph, meta, part);
    let parts = filter.iter().flat_map(|(name, value)| match value {
        Bson::Array(list) if name == "$and" => list.iter().filter_map(Bson::as_document).cloned().collect(),
        _ => vec![doc! { name: value.clone() }],
    });
    all(parts.filter(stands))
}
