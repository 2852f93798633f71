//! Finds the edges, which the graph has.

use super::fields::fields;
use crate::Odm;
use crate::graph::Graph;
use crate::graph::edge::{Derivation, Derived, Edge};
use crate::model::document::{DocumentMeta, IndexKey, IndexKind};
use crate::model::meta::bucket::Per;
use crate::tools::edges::{BucketNode, CopyEdge, CopyKind, DocumentNode, Edges, ReferenceEdge};

impl Odm {
    /// The documents, their references and their copies, as a diagram: text, Mermaid or SVG. Nothing is sent to the
    /// server.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(odm: Odm) {
    /// println!("{}", odm.edges());
    /// # }
    /// ```
    pub fn edges(&self) -> Edges {
        Edges::of(self.models().iter().map(|model| model.meta), self.graph())
    }
}

impl Edges {
    pub(super) fn of(models: impl IntoIterator<Item = &'static DocumentMeta>, graph: &Graph) -> Edges {
        let mut edges = Edges::default();
        for meta in models {
            edges.documents.push(DocumentNode {
                name: meta.name,
                collection: meta.collection,
                append_only: meta.append_only,
                bucket: meta.bucket.map(|bucket| BucketNode {
                    items: bucket.items,
                    size: bucket.size,
                    per: bucket.period.as_ref().map(|period| match period.per {
                        Per::Hour => "hour",
                        Per::Day => "day",
                        Per::Month => "month",
                    }),
                }),
                fields: fields(meta),
            });
            edges
                .references
                .extend(graph.outgoing(meta).map(|edge| reference(graph, edge)));
            edges.copies.extend(graph.outgoing(meta).flat_map(copies));
            edges.copies.extend(
                graph
                    .derived_in(meta)
                    .map(|derived| from_children(graph, derived)),
            );
        }
        edges
    }
}

fn reference(graph: &Graph, edge: &Edge) -> ReferenceEdge {
    ReferenceEdge {
        holder: edge.holder.collection,
        field: edge.path.clone(),
        kind: edge.reference.kind,
        targets: edge.targets.iter().map(|target| target.meta.collection).collect(),
        by: edge.by(),
        max: edge.max,
        optional: edge.reference.optional,
        only: edge.reference.one,
        inverse: graph.inverse(edge).map(|other| other.path.clone()),
        on_delete: edge.reference.on_delete,
    }
}

/// The copies beside a reference.
fn copies(edge: &Edge) -> impl Iterator<Item = CopyEdge> {
    edge.copies.iter().map(|copy| CopyEdge {
        holder: edge.holder.collection,
        field: edge.copy_path(copy),
        source: edge.first_target().map_or("", |target| target.collection),
        kind: CopyKind::Field {
            source: copy.source,
            through: edge.path.clone(),
        },
        consistency: copy.consistency,
    })
}

fn from_children(graph: &Graph, derived: &Derived) -> CopyEdge {
    let parent = graph.parent_edge(derived).path.clone();
    let filtered = derived.filter.is_some();
    CopyEdge {
        holder: derived.parent.collection,
        field: derived.field.name.to_owned(),
        source: derived.child.collection,
        kind: match derived.what {
            Derivation::Subset(subset) => CopyKind::Subset {
                parent,
                limit: subset.limit,
                last: subset.last,
                order: order(subset.order),
                fields: (subset.fields)().iter().map(|field| field.source).collect(),
                filtered,
            },
            Derivation::Computed { operation, of } => CopyKind::Computed {
                operation,
                of: (!of.is_empty()).then_some(of),
                parent,
                filtered,
            },
        },
        consistency: derived.consistency,
    }
}

/// The keys as they are declared: `-stars, date`.
fn order(keys: &[IndexKey]) -> String {
    let keys = keys.iter().map(|key| match key.kind {
        IndexKind::Descending => format!("-{}", (key.path)()),
        _ => (key.path)().to_owned(),
    });
    keys.collect::<Vec<_>>().join(", ")
}
