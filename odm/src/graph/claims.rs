//! Keys that are unique over all shards and shard keys: `unique(global)`. The rule `rules/claims.rs` writes the claims.

use crate::graph::Graph;
use crate::model::claims::GlobalKey;
use crate::model::default::fields_at;
use crate::model::document::{DocumentMeta, IndexMeta};
use crate::model::meta::Managed;
use crate::model::meta::names::meet;
use crate::model::reference::OnDelete;
use crate::model::shape::{FieldMeta, MOST_WRAPPERS, Shape, of_field};
use mongodb::bson::Bson;
use std::sync::Arc;

impl Graph {
    /// The keys of these documents that are unique over all shards.
    pub(crate) fn global_keys(&self, meta: &DocumentMeta) -> impl Iterator<Item = &GlobalKey> + Clone {
        let collection = meta.collection;
        self.keys
            .iter()
            .filter(move |key| key.holder.collection == collection)
    }

    /// All of them.
    pub(crate) fn all_global_keys(&self) -> &[GlobalKey] {
        &self.keys
    }

    /// Whether documents have such a key.
    pub(crate) fn is_claimed(&self, meta: &DocumentMeta) -> bool {
        self.global_keys(meta).next().is_some()
    }

    /// Whether a change of this field changes a claim.
    pub(crate) fn is_claimed_by(&self, meta: &DocumentMeta, field: &str) -> bool {
        self.global_keys(meta).any(|key| key.is_of(field))
    }

    /// Takes up the keys that are declared, and tells of those that no claim can keep.
    pub(super) fn add_global_keys(&mut self, problems: &mut Vec<String>) {
        let mut keys = Vec::new();
        for holder in self.models.iter().copied() {
            for declared in holder
                .indexes_of_collection()
                .filter(|declared| declared.index.global)
            {
                let paths: Vec<&'static str> = declared.paths().collect();
                let why = paths.iter().find_map(|path| self.why_not_claimed(holder, path));
                let no_claims = || why_no_claims(holder, declared.index, declared.variant.is_some());
                let why = why.or_else(|| no_claims().map(str::to_owned));
                match (why, holder.claims) {
                    (Some(why), _) => problems.push(format!(
                        "`{}` declares `unique(global)` on `{}`, and {why}",
                        holder.name,
                        paths.join("`, `")
                    )),
                    (None, Some(claims)) => keys.push(GlobalKey {
                        holder,
                        claims,
                        index: declared.index,
                        paths,
                    }),
                    (None, None) => {}
                }
            }
        }
        self.keys = Arc::new(keys);
    }

    /// Why the library can't claim the values of a field in each of its writes.
    fn why_not_claimed(&self, holder: &DocumentMeta, path: &str) -> Option<String> {
        let fields = fields_at((holder.shape)(), path);
        let Some(field) = fields.last() else {
            return Some(format!(
                "`{path}` stands in an array or in a variant of an enum: name a single value that is declared outside of them"
            ));
        };
        if fields.iter().any(|field| is_array(field)) {
            return Some(format!(
                "`{path}` is an array: name a single value, or store each item in a document of its own"
            ));
        }
        if fields.iter().any(|field| field.copied.is_some()) {
            return Some(format!(
                "`{path}` is written by the library, which can't claim its values in each of these writes: name a field that the \
                 application writes"
            ));
        }
        if fields.iter().any(|field| has_default(field)) {
            return Some(format!(
                "`{path}` has a default, which all documents without the field would share: leave the default out"
            ));
        }
        if !matches!(field.managed, Managed::No | Managed::Scope) {
            return Some(format!(
                "the library writes `{path}` in each document: name a field that the application writes"
            ));
        }
        let mut edges = self.outgoing(holder).filter(|edge| meet(&edge.path, path));
        edges.find_map(|edge| {
            let takes_out = matches!(edge.reference.on_delete, OnDelete::Nullify | OnDelete::Pull);
            if edge.is_two_way() {
                Some(format!(
                    "`{path}` is one side of a two-way reference, which the other side writes too: make it a one-way reference"
                ))
            } else if takes_out {
                Some(format!(
                    "the deletion of what `{path}` refers to empties it (`on_delete = {}`): say `on_delete = restrict`, `cascade` or \
                     `keep`",
                    edge.reference.on_delete
                ))
            } else {
                None
            }
        })
    }
}

/// Why documents of a type have no claims by an index.
fn why_no_claims(holder: &DocumentMeta, index: &IndexMeta, of_variant: bool) -> Option<&'static str> {
    if of_variant || holder.claims.is_none() {
        Some("it belongs to one variant of an enum of documents: declare it on the enum")
    } else if index.is_partial() || index.sparse || index.collation.is_some() {
        Some(
            "that holds for all documents, by the collation of their collection: leave `partial`, `sparse` and `collation` out",
        )
    } else if holder.bucket.is_some() {
        Some("its documents are buckets, which the library inserts: leave it out")
    } else {
        None
    }
}

/// Whether a field that is missing has a value.
fn has_default(field: &FieldMeta) -> bool {
    let made = field.default.map(|make| make());
    made.is_some_and(|made| !matches!(made, Ok(Bson::Null)))
}

fn is_array(field: &'static FieldMeta) -> bool {
    let mut shape = of_field(field);
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(inner) if !inner.bounds.opaque => shape = of_field(inner),
            Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) | Shape::Map(_) => return true,
            _ => return false,
        }
    }
    false
}
