//! The fields of declared indexes, and of those that references ask for.

use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::{DocumentMeta, IndexKind};

/// Whether an index finds the holders of a reference. None does where it is not wanted, for `_id`, which has its own, and for a
/// two-way reference, whose other side names its holders.
pub(crate) fn is_indexed(edge: &Edge) -> bool {
    edge.reference.index && !edge.is_two_way() && edge.path != "_id"
}

/// The fields by whose values holders are found: the reference, or the type and the id in it.
pub(crate) fn looked_up(edge: &Edge) -> Vec<String> {
    if edge.reference.union {
        vec![format!("{}.type", edge.path), format!("{}.id", edge.path)]
    } else {
        vec![edge.path.clone()]
    }
}

/// The fields of the unique index of a reference by which each document is referred to once.
pub(crate) fn referred_once(edge: &Edge) -> Option<Vec<String>> {
    let order = edge.reference.order.iter().map(|key| (key.path)().to_owned());
    (is_indexed(edge) && edge.reference.one).then(|| looked_up(edge).into_iter().chain(order).collect())
}

/// Whether a declared index finds the documents by the value of this field: one of the document's own, or of its
/// references.
pub(crate) fn has_index_on(meta: &DocumentMeta, graph: &Graph, field: &str) -> bool {
    has_index_behind(meta, graph, &[], field)
}

/// The same of a query that has values for these fields: an index may begin with them.
pub(crate) fn has_index_behind(meta: &DocumentMeta, graph: &Graph, given: &[&str], field: &str) -> bool {
    // One of a variant does not hold the documents of the others.
    let own = meta
        .indexes_of_collection()
        .filter(|declared| declared.variant.is_none());
    let mut own = own.map(|declared| {
        // Below a field, a wildcard index holds the values by names that it does not know.
        let keys = declared.index.keys.iter();
        let keys = keys.take_while(|key| key.kind != IndexKind::Wildcard);
        keys.map(|key| (key.path)())
    });
    let mut edges = graph.outgoing(meta).filter(|edge| is_indexed(edge));
    field == "_id"
        || own.any(|names| begins_with(names.skip_while(|name| given.contains(name)), field))
        || edges.any(|edge| begins_with(looked_up(edge).iter().map(String::as_str), field))
}

/// Whether the first field of an index is this one, or the first two are the parts of a reference of a union at its place.
pub(crate) fn begins_with<'a>(mut names: impl Iterator<Item = &'a str>, field: &str) -> bool {
    let (first, second) = (names.next(), names.next());
    first.is_some_and(|first| first == field)
        || second.is_some_and(|second| second == field) && first.is_some_and(|first| first.ends_with(".type"))
}
