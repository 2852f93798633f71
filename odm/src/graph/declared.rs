//! The declarations of references of these models.

use crate::graph::Graph;
use crate::graph::declaration::{Declaration, RULE, SOFT_DELETE};
use crate::graph::edge::Edge;
use mongodb::bson::doc;

/// The sides of two-way references, those that are believed first: what is linked by them is there on the other side when
/// that is looked at.
pub(crate) fn linked(graph: &Graph) -> impl Iterator<Item = &Edge> {
    let believed = graph
        .edges()
        .iter()
        .filter(|edge| edge.owner || edge.inverse == Some(edge.id));
    believed.flat_map(|edge| {
        let other = graph.inverse(edge).filter(|other| other.id != edge.id);
        [edge].into_iter().chain(other)
    })
}

/// The other side follows from the documents that hold this one.
pub(crate) fn two_way(graph: &Graph, edge: &Edge) -> Option<Declaration> {
    let inverse = graph.inverse(edge)?;
    Some(Declaration {
        id: format!("{}.{}", edge.holder.collection, edge.path),
        from: edge.holder.collection,
        holder: inverse.holder.collection,
        is: doc! { "inverse": &inverse.path, "list": edge.list },
        fills: true,
        rule: Some(edge.reference.on_delete),
    })
}

/// The collections whose documents are kept by deletions. A program that does not know of it would read deleted documents, and write
/// them.
pub(crate) fn soft_deleted(graph: &Graph) -> impl Iterator<Item = Declaration> + '_ {
    graph.models().filter_map(|meta| {
        let field = meta.soft_delete?;
        Some(Declaration {
            id: format!("{}: soft_delete", meta.collection),
            from: meta.collection,
            holder: meta.collection,
            is: doc! { SOFT_DELETE: field },
            fills: false,
            rule: None,
        })
    })
}

/// A reference without copies: one declaration for each collection that it leads to.
pub(crate) fn ruled<'g>(graph: &'g Graph, edge: &'g Edge) -> impl Iterator<Item = Declaration> + 'g {
    let is_plain = edge.consistency().is_none() && graph.inverse(edge).is_none();
    let targets = is_plain.then_some(&edge.targets).into_iter().flatten();
    targets.map(|target| target.meta).map(|target| {
        let name = format!("{}.{}", edge.holder.collection, edge.path);
        Declaration {
            id: if edge.reference.union {
                format!("{name}: {}", target.collection)
            } else {
                name
            },
            from: target.collection,
            holder: edge.holder.collection,
            is: doc! { RULE: edge.reference.on_delete.to_string(), "to": target.collection },
            fills: false,
            rule: Some(edge.reference.on_delete),
        }
    })
}
