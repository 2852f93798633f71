//! Finds the edges: references in the graph, copies by walking the shapes of the documents.

use super::{CopyEdge, CopyKind, DocumentNode, Edges, ReferenceEdge};
use crate::Odm;
use crate::copy::{Computed, Copied, FieldCopy, Subset};
use crate::document::{DocumentMeta, IndexKey, IndexKind};
use crate::relation::{Edge, Graph};
use crate::shape::{Body, FieldMeta, Shape, StructShape, Tagging};

/// How many types deep a copy is looked for: a type that contains itself has no end.
const DEPTH: usize = 32;

impl Odm {
    /// The documents, their references and their copies, as a diagram: text, Mermaid or SVG. Nothing is sent to the
    /// server.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
            });
            edges
                .references
                .extend(graph.outgoing(meta).map(|edge| reference(graph, edge)));
            let mut walk = Walk {
                meta,
                graph,
                types: Vec::new(),
                found: Vec::new(),
            };
            walk.shape((meta.shape)(), &mut Vec::new());
            edges.copies.append(&mut walk.found);
        }
        edges
    }
}

fn reference(graph: &Graph, edge: &Edge) -> ReferenceEdge {
    ReferenceEdge {
        holder: edge.holder.collection,
        field: edge.path.clone(),
        kind: edge.reference.kind,
        targets: edge.targets.iter().map(|target| target.collection).collect(),
        by: edge.by(),
        max: edge.max,
        optional: edge.reference.optional,
        only: edge.reference.one,
        inverse: graph.inverse(edge).map(|other| other.path.clone()),
        on_delete: edge.reference.on_delete,
    }
}

/// How often types of one name may stand inside each other.
const SAME_NAME: usize = 3;

struct Walk<'g> {
    meta: &'static DocumentMeta,
    graph: &'g Graph,
    /// The structs that the walk is in.
    types: Vec<&'static StructShape>,
    found: Vec<CopyEdge>,
}

impl Walk<'_> {
    fn shape(&mut self, shape: Shape, place: &mut Vec<String>) {
        if self.types.len() >= DEPTH || place.len() >= DEPTH {
            return;
        }
        match shape {
            Shape::Optional(inner) => self.shape(inner(), place),
            Shape::Array(items) | Shape::Fixed { items, .. } => self.shape(items(), place),
            Shape::Tuple(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.below(&at.to_string(), place, |walk, place| walk.shape(item(), place));
                }
            }
            Shape::Map(values) => self.below("$*", place, |walk, place| walk.shape(values(), place)),
            Shape::Bounded(field) => self.value(field, place),
            Shape::Struct(shape) => self.fields(shape, place),
            Shape::Enum(shape) => {
                for variant in shape.variants {
                    let name = match shape.tagging {
                        Tagging::External => Some(variant.name),
                        Tagging::Adjacent(_, content) => Some(content),
                        Tagging::Internal(_) | Tagging::Untagged => None,
                    };
                    match name {
                        Some(name) => self.below(name, place, |walk, place| walk.body(variant.body, place)),
                        None => self.body(variant.body, place),
                    }
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, name: &str, place: &mut Vec<String>, look: impl FnOnce(&mut Self, &mut Vec<String>)) {
        place.push(name.to_owned());
        look(self, place);
        place.pop();
    }

    fn body(&mut self, body: Body, place: &mut Vec<String>) {
        match body {
            Body::Unit => {}
            Body::Newtype(field) => self.value(field, place),
            Body::Tuple(fields) => {
                for (at, field) in fields.iter().enumerate() {
                    self.below(&at.to_string(), place, |walk, place| walk.value(field, place));
                }
            }
            Body::Struct(shape) => self.fields(shape, place),
        }
    }

    fn fields(&mut self, shape: &'static StructShape, place: &mut Vec<String>) {
        // The second time round everything has been seen; but a generic type may stand inside itself without being recursive.
        let same = |other: &&&StructShape| other.name == shape.name;
        if self.types.iter().any(|other| std::ptr::eq(*other, shape))
            || self.types.iter().filter(same).count() >= SAME_NAME
        {
            return;
        }
        self.types.push(shape);
        for field in shape.fields {
            match field.flatten {
                true => self.value(field, place),
                false => self.below(field.name, place, |walk, place| walk.value(field, place)),
            }
        }
        self.types.pop();
    }

    fn value(&mut self, field: &'static FieldMeta, place: &mut Vec<String>) {
        if let Some(copied) = field.copied {
            let path = place.join(".");
            let edge = match copied {
                Copied::Field(copy) => self.field_copy(copy, path, place),
                Copied::Subset(subset) => self.subset(subset, path),
                Copied::Computed(computed) => self.computed(computed, path),
            };
            // Several variants of an enum may hold the same copy.
            if !self.found.contains(&edge) {
                self.found.push(edge);
            }
            return;
        }
        if !field.bounds.opaque && field.reference.is_none() {
            self.shape((field.shape)(), place);
        }
    }

    fn field_copy(&self, copy: &FieldCopy, field: String, place: &[String]) -> CopyEdge {
        let beside = place.split_last().map(|(_, struct_)| struct_).unwrap_or_default();
        let through = beside.iter().map(String::as_str).chain([copy.through]);
        let through = through.collect::<Vec<_>>().join(".");
        let reference = self.graph.outgoing(self.meta).find(|edge| edge.path == through);
        let targets = reference.map(|edge| edge.targets.as_slice()).unwrap_or_default();
        CopyEdge {
            holder: self.meta.collection,
            field,
            sources: targets.iter().map(|target| target.collection).collect(),
            kind: CopyKind::Field {
                source: (copy.source)(),
                through,
            },
            sync: copy.sync,
        }
    }

    fn subset(&self, subset: &Subset, field: String) -> CopyEdge {
        CopyEdge {
            holder: self.meta.collection,
            field,
            sources: vec![(subset.child)().collection],
            kind: CopyKind::Subset {
                parent: (subset.parent)().name,
                limit: subset.limit,
                last: subset.last,
                order: order(subset.order),
                fields: subset.fields.iter().map(|field| field.source).collect(),
                filtered: subset.filter.is_some(),
            },
            sync: subset.sync,
        }
    }

    fn computed(&self, computed: &Computed, field: String) -> CopyEdge {
        CopyEdge {
            holder: self.meta.collection,
            field,
            sources: vec![(computed.child)().collection],
            kind: CopyKind::Computed {
                operation: computed.operation,
                of: computed.of.map(|of| of()),
                parent: (computed.parent)().name,
                filtered: computed.filter.is_some(),
            },
            sync: computed.sync,
        }
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
