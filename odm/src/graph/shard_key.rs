//! Shard keys that a cluster can't keep, and the unique indexes beside them.
//!
//! A router finds a document by the value in each field of the key, so every document has one, and keeps it. A unique index holds for
//! one shard, and so does `_id`: documents that share the values of one have to share their shard key.

use crate::graph::Graph;
use crate::graph::edge::{CopyField, Edge};
use crate::graph::indexes::{looked_up, referred_once};
use crate::graph::routing::same;
use crate::model::copy::{Consistency, Copied};
use crate::model::document::DocumentMeta;
use crate::model::meta::shard_key::ShardKeyMeta;
use crate::model::meta::{Body, FieldMeta, Managed, Shape, Tagging};
use crate::model::shape::{MOST_WRAPPERS, inner, may_be_null, of_field};
use crate::model::types::holds_text;

impl Graph {
    pub(crate) fn check_shard_keys(&self, problems: &mut Vec<String>) {
        for meta in self.models() {
            let Some(key) = meta.shard_key else { continue };
            for path in key.fields.iter().map(|field| field.path) {
                let problem = self.unfit(meta, path).or_else(|| collated(meta, path));
                problems.extend(
                    problem.map(|why| format!("the shard key of `{}` names `{path}`, {why}", meta.name)),
                );
            }
            self.check_unique(meta, key, problems);
            problems.extend(self.ambiguous_ids(meta, key));
        }
    }

    /// Why not every document has one value at a path, or not always the same one.
    fn unfit(&self, meta: &DocumentMeta, path: &str) -> Option<String> {
        let mut shape = (meta.shape)();
        let mut end = 0;
        for part in path.split('.') {
            if let Some(why) = within(shape, path.get(..end).unwrap_or_default()) {
                return Some(why);
            }
            end += part.len() + usize::from(end > 0);
            let here = path.get(..end).unwrap_or_default();
            let Some(fields) = fields_to(shape, part, MOST_WRAPPERS) else {
                return Some(format!("and no field `{here}` is declared"));
            };
            let field = fields.last()?;
            let why = self.changing(meta, field, here);
            if let Some(why) = why.or_else(|| fields.iter().find_map(|field| missing(field))) {
                return Some(format!("and `{here}` {why}"));
            }
            shape = of_field(field);
        }
        if path == "_id" {
            None
        } else {
            not_single(shape, path)
        }
    }

    /// Why the value of a field changes, by which the document would move to another shard.
    fn changing(&self, meta: &DocumentMeta, field: &FieldMeta, path: &str) -> Option<String> {
        let by_library = matches!(
            field.managed,
            Managed::UpdatedAt | Managed::Version | Managed::DeletedAt
        );
        let is_two_way = field
            .reference
            .is_some_and(|reference| reference.inverse.is_some());
        let why = match field.copied {
            _ if by_library => "is changed by the library with every write",
            _ if field.volatile => "is `#[volatile]`, and changes often",
            _ if is_two_way => "is changed by writes of the other document too (`inverse`)",
            Some(Copied::Subset(_) | Copied::Computed(_)) => {
                "is computed from other documents, and changes with them"
            }
            Some(Copied::Field(copy)) => {
                let of_copies = self.outgoing(meta).find(|edge| {
                    let mut copies = edge.copies.iter();
                    copies.any(|copy| edge.copy_path(copy) == path)
                });
                let is_kept = copy.consistency == Consistency::Snapshot;
                if is_kept || of_copies.is_some_and(|edge| decides(edge, path)) {
                    return None;
                }
                return Some(format!(
                    "is a copy of `{}`, which may change, and the document would move to another shard then: copy a field of the shard \
                     key of the other document, which stays as it is, or write `consistency = snapshot`",
                    (copy.source)()
                ));
            }
            None => return None,
        };
        Some(format!(
            "{why}, and the document would move to another shard each time: name a field that stays as it is"
        ))
    }

    /// The fields that a unique index gets in front so that it begins with the shard key: none where it does so. `None` where that would
    /// be another rule, since documents that share its values may differ in the key.
    pub(crate) fn key_in_front(&self, meta: &DocumentMeta, paths: &[&str]) -> Option<Vec<&'static str>> {
        let key: Vec<&str> = meta.shard_key?.fields.iter().map(|field| field.path).collect();
        if paths.starts_with(&key) || paths.first() == Some(&"_id") {
            return Some(Vec::new());
        }
        let is_in = |edge: &&Edge| {
            let own = looked_up(edge);
            edge.array().is_none() && own.iter().all(|path| paths.contains(&path.as_str()))
        };
        let is_decided = |path: &&str| self.outgoing(meta).filter(is_in).any(|edge| decides(edge, path));
        let mut rest = key.iter().filter(|path| !paths.contains(path)).peekable();
        (rest.peek().is_some() && rest.all(is_decided)).then_some(key)
    }

    /// Unique indexes begin with the whole shard key.
    fn check_unique(&self, meta: &DocumentMeta, key: &ShardKeyMeta, problems: &mut Vec<String>) {
        let names: Vec<String> = key
            .fields
            .iter()
            .map(|field| format!("`{}`", field.path))
            .collect();
        let names = names.join(", ");
        let alone = "and a sharded cluster keeps an index unique within each shard alone";
        let has_id = key.fields.iter().any(|field| field.path == "_id");
        for declared in meta
            .indexes_of_collection()
            .filter(|declared| declared.index.unique && !declared.index.global)
        {
            let own: Vec<&str> = declared.paths().collect();
            if self.key_in_front(meta, &own).is_some() {
                continue;
            }
            let rest = own
                .iter()
                .copied()
                .filter(|path| key.fields.iter().all(|field| field.path != *path));
            let of_key = key.fields.iter().map(|field| field.path);
            let whole: Vec<&str> = of_key.chain(rest).collect();
            let choice = if has_id {
                "behind `_id` no value repeats, so declare the fields `unique(global)`, which holds for all shards; or leave `_id` out of \
                 the key and put the key in front"
                    .to_owned()
            } else {
                format!(
                    "put the key in front, `index(fields({}), unique)`, by which values are unique for each value of the key; or declare \
                     the fields `unique(global)`, which holds for all shards",
                    whole.join(", ")
                )
            };
            problems.push(format!(
                "the unique index of `{}` on `{}` does not begin with the shard key ({names}), {alone}: {choice}",
                meta.name,
                own.join("`, `")
            ));
        }
        for edge in self.outgoing(meta) {
            let Some(paths) = referred_once(edge) else {
                continue;
            };
            let own: Vec<&str> = paths.iter().map(String::as_str).collect();
            if self.key_in_front(meta, &own).is_some() {
                continue;
            }
            problems.push(format!(
                "each document is named by one `{}` at most in `{}` (`one`), by a unique index that does not begin with the shard key \
                 ({names}), {alone}: distribute the documents by the reference, `shard_key(hashed({}))`; say that the key follows from \
                 it, `same(…)`; or leave out `one`, and declare the field `unique(global)`, which holds for all shards",
                meta.name, edge.path, edge.field.rust
            ));
        }
    }

    /// References name a document by its `_id`, which is unique on its shard alone.
    fn ambiguous_ids(&self, meta: &DocumentMeta, key: &ShardKeyMeta) -> Option<String> {
        if is_id_generated(meta) || key.fields.iter().any(|field| field.path == "_id") {
            return None;
        }
        let edge = self.incoming(meta).find(|edge| edge.by() == "_id")?;
        Some(format!(
            "`{}.{}` refers to `{}` by its `_id`, which the application sets and which is not in the shard key: a sharded cluster keeps \
             `_id` unique within each shard alone, so that one reference could name two documents. Put it into the key, `shard_key(…, \
             id)`; or have the library make it, `id: ObjectId` or `#[field(generate = Uuid::new)]`",
            edge.holder.name, edge.path, meta.name
        ))
    }
}

/// Whether the documents with one value in a reference share that of a field, for as long as they are there: the field is the reference,
/// the same in the other document, or a copy of a field that is in the shard key of that.
pub(crate) fn decides(edge: &Edge, path: &str) -> bool {
    let stays = |source: &str, target: &DocumentMeta| {
        let mut key = target.shard_key.iter().flat_map(|key| key.fields);
        source == "_id" || key.any(|field| field.path == source)
    };
    let is_copied = |copy: &&CopyField| edge.copy_path(copy) == path;
    let copy = edge.copies.iter().find(is_copied);
    edge.path == path
        || same(edge).any(|name| name == path)
        || copy.is_some_and(|copy| {
            let mut targets = edge.targets.iter();
            targets.all(|target| stays(copy.source, target.meta))
        })
}

/// Whether no two documents get one `_id`.
fn is_id_generated(meta: &DocumentMeta) -> bool {
    let id = meta.field("_id").map(|field| inner(of_field(field)));
    let mut variants = meta.variants().peekable();
    meta.generated_id
        || matches!(id, Some(Shape::ObjectId))
        || variants.peek().is_some() && variants.all(|variant| variant.generated_id)
}

/// Why no single value is found below a value.
fn within(shape: Shape, path: &str) -> Option<String> {
    match inner(shape) {
        Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) => Some(format!(
            "which is in the array `{path}`, and MongoDB takes none in a shard key: name a field outside of it"
        )),
        Shape::Map(_) => Some(format!(
            "which is in the map `{path}`, whose keys differ from document to document: name a field outside of it"
        )),
        Shape::Enum(_) => Some(format!(
            "which is in a variant of `{path}`, and documents with another one are all on one shard: name a field that all have"
        )),
        Shape::Any => Some(format!(
            "which is in `{path}`, of which nothing is declared: name another field"
        )),
        _ => None,
    }
}

/// Why what stands at the end of a path is not one value that stays as it is.
fn not_single(shape: Shape, path: &str) -> Option<String> {
    match inner(shape) {
        Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) => Some(
            "which is an array, and MongoDB takes none in a shard key: name a field outside of it".to_owned(),
        ),
        Shape::Map(_) => Some(
            "which is a map, whose keys differ from document to document: name a field outside of it"
                .to_owned(),
        ),
        Shape::Enum(of)
            if of.tagging != Tagging::Untagged
                && of.variants.iter().all(|one| matches!(one.body, Body::Unit)) =>
        {
            None
        }
        Shape::Struct(_) | Shape::Enum(_) => Some(format!(
            "which is a document, and each change of a field in it would be another key: name one of its fields, `{path}.field`"
        )),
        Shape::Any | Shape::Null | Shape::Regex => {
            Some("whose values MongoDB may not take in a shard key: name another field".to_owned())
        }
        _ => None,
    }
}

/// Why documents may have no value in a field that a reader finds one in.
fn missing(field: &FieldMeta) -> Option<String> {
    let has_default = field.default.is_some() && field.stored;
    let why = if field.bounds.opaque {
        "is not looked into, so it may be an array or missing: name another field, or leave out `opaque`"
    } else if field.deferred {
        "is a `Deferred`, without which a document is read, so that its shard key would not be known: name another field"
    } else if !field.aliases.is_empty() {
        "is also read under another name, under which a router finds no value: leave `alias` out, and rename the field in the stored \
         documents"
    } else if field.skips_none || field.left_out {
        "is left out of some documents, and those without a value are all on one shard: leave out `skip_none` or \
         `skip_serializing_if`, and write a type without `Option`"
    } else if may_be_null(of_field(field)) && !has_default {
        "may be `null` or missing, and all documents without a value are on one shard: write a type without `Option`; or let each \
         document have a value, `#[field(default = …, stored)]`"
    } else if !field.required && !field.stored {
        "may be missing, and documents that lack it are found under `null` instead of the default: have every document store it, \
         `#[field(stored)]`"
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// Why a text is found on no single shard.
fn collated(meta: &DocumentMeta, path: &str) -> Option<String> {
    let collation = meta.collation.filter(|one| one.locale != "simple")?;
    holds_text((meta.shape)(), path).then(|| {
        format!(
            "which is a text, and the collection compares texts by the collation `{}`: a router sends a condition on it to all shards, and \
             may miss documents where it is hashed. Declare the collation on the indexes that need it, or name a field that is no text",
            collation.locale
        )
    })
}

/// The field of a struct with this stored name, behind those that are flattened around it.
fn fields_to(shape: Shape, name: &str, left: u32) -> Option<Vec<&'static FieldMeta>> {
    let Shape::Struct(of) = inner(shape) else {
        return None;
    };
    let mut own = of.fields.iter().filter(|field| !field.flatten);
    if let Some(field) = own.find(|field| field.name == name) {
        return Some(vec![field]);
    }
    let mut flat = of.fields.iter().filter(|field| field.flatten);
    flat.find_map(|outer| {
        let mut fields = fields_to(of_field(outer), name, left.checked_sub(1)?)?;
        fields.insert(0, outer);
        Some(fields)
    })
}
