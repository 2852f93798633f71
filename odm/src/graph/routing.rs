//! Which fields of documents give the shard keys of the documents that they refer to.
//!
//! A statement that names a document by its `_id` alone is sent to all shards, unless `_id` is the shard key. The other fields of the
//! key are known by `same(field)`, which every write checks, and by copies of these fields: no update changes a shard key.

use crate::graph::Graph;
use crate::graph::edge::{Edge, ReferenceTarget};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::FieldMeta;
use crate::model::shape;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};
use std::collections::HashMap;

/// The values of the fields of a shard key but `_id`, in the order of the key; `None` is not known.
pub(crate) type Route = Vec<Option<Key>>;

/// What the documents of a collection say of shard keys.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// The fields of the collection's own shard key, but `_id`.
    pub(crate) key: Vec<&'static str>,
    /// The fields that are read with each document.
    pub(crate) read: Vec<String>,
    /// The fields by which references name the documents, but `_id`.
    pub(crate) named_by: Vec<&'static str>,
    /// The references to documents of which some field of the shard key is known.
    pub(crate) targets: Vec<TargetRoute>,
    /// The fields that are the same in referenced documents, or in those that refer to it.
    same: Vec<&'static str>,
}

/// Where a document has the fields of the shard key of a document that it refers to.
#[derive(Debug)]
pub(crate) struct TargetRoute {
    pub(crate) target: ReferenceTarget,
    /// For each field of the target's key.
    sources: Vec<KeySource>,
}

#[derive(Clone, Copy, Debug)]
enum KeySource {
    Unknown,
    /// A field of the document.
    Own(&'static str),
    /// A copy beside the reference.
    Beside(&'static str),
}

impl Routing {
    /// The fields that no update changes: those of the shard key, and those that are the same in other documents.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = &'static str> {
        let more = self.same.iter().filter(|name| !self.key.contains(name));
        self.key.iter().chain(more).copied()
    }

    /// The fields of a document that no update changes, as a condition, where it has all of them.
    pub(crate) fn fixed_in(&self, document: &RawDocument) -> Option<Document> {
        let fields = self.fixed().map(|name| {
            let value = Bson::try_from(at(document, name)?).ok()?;
            Some((name.to_owned(), doc! { "$eq": value }.into()))
        });
        fields.collect()
    }

    /// The shard key of a document, if it has a value in any field of it.
    pub(crate) fn of_document(&self, document: &RawDocument) -> Option<Route> {
        let route: Route = self.key.iter().map(|name| key_at(document, name)).collect();
        route.iter().any(Option::is_some).then_some(route)
    }
}

impl TargetRoute {
    /// The documents that this one refers to, with what is known of their shard keys.
    pub(crate) fn of_document(&self, edge: &Edge, document: &RawDocument) -> Vec<(Key, Route)> {
        let is_beside = |source: &KeySource| matches!(source, KeySource::Beside(_));
        let references = if self.sources.iter().any(is_beside) {
            edge.values_beside(document)
        } else {
            edge.values(document).map(|value| (document, value)).collect()
        };
        let named = references
            .into_iter()
            .filter_map(|(beside, value)| Some((beside, edge.points(value)?)));
        let named = named.filter(|(_, (target, _))| *target == self.target);
        let known = named.map(|(beside, (_, key))| {
            let route: Route = self
                .sources
                .iter()
                .map(|source| match source {
                    KeySource::Unknown => None,
                    KeySource::Own(name) => key_at(document, name),
                    KeySource::Beside(name) => key_at(beside, name),
                })
                .collect();
            (Key::of(key), route)
        });
        known
            .filter(|(_, route)| route.iter().any(Option::is_some))
            .collect()
    }

    /// What fields of the document say of the shard key of those that it refers to.
    pub(crate) fn of_fields(&self, value: impl Fn(&str) -> Option<Key>) -> Option<Route> {
        let route: Route = self
            .sources
            .iter()
            .map(|source| match source {
                KeySource::Own(name) => value(name),
                KeySource::Unknown | KeySource::Beside(_) => None,
            })
            .collect();
        route.iter().any(Option::is_some).then_some(route)
    }

    /// What the shard key of a document says of those that refer to it by `same`: the fields of theirs, with the values.
    pub(crate) fn of_holders<'r>(
        &'r self,
        route: &'r [Option<Key>],
    ) -> impl Iterator<Item = (&'static str, &'r Key)> {
        let fields = self.sources.iter().zip(route);
        fields.filter_map(|(source, value)| match source {
            KeySource::Own(name) => Some((*name, value.as_ref()?)),
            KeySource::Unknown | KeySource::Beside(_) => None,
        })
    }
}

/// The value of a field, by its dotted name. `None` for `null`, too.
fn at<'d>(document: &'d RawDocument, name: &str) -> Option<RawBsonRef<'d>> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?).ok()??;
    for part in parts {
        value = value.as_document()?.get(part).ok()??;
    }
    (value != RawBsonRef::Null).then_some(value)
}

/// The value of a field as a key, by its dotted name.
pub(crate) fn key_at(document: &RawDocument, name: &str) -> Option<Key> {
    at(document, name).map(Key::of)
}

impl Graph {
    /// What documents of this type say of shard keys, if they say anything.
    pub(crate) fn routing(&self, meta: &DocumentMeta) -> Option<&Routing> {
        self.routings.get(meta.collection)
    }

    /// Whether any model says something of shard keys.
    pub(crate) fn has_routings(&self) -> bool {
        !self.routings.is_empty()
    }

    /// Works out which fields give shard keys.
    ///
    /// # Errors
    /// `same` with fields that one of the two documents does not have, and of a reference that is not checked, in sentences.
    pub(super) fn find_routings(&mut self, problems: &mut Vec<String>) {
        self.edges.iter().for_each(|edge| check_same(edge, problems));
        let is_any = self.models.iter().any(|meta| meta.shard_key.is_some())
            || self.edges.iter().any(|edge| !edge.reference.same.is_empty());
        if !is_any || !problems.is_empty() {
            return;
        }
        let mut routings: HashMap<&'static str, Routing> = HashMap::new();
        for meta in self.models.iter() {
            let routing = routings.entry(meta.collection).or_default();
            routing.key = meta.key_beside_id().collect();
            for edge in self.incoming(meta) {
                add(&mut routing.named_by, Some(edge.by()).filter(|by| *by != "_id"));
                add(&mut routing.same, same(edge));
            }
            for edge in self.outgoing(meta) {
                add(&mut routing.same, same(edge));
                routing.targets.extend(target_routes(edge));
            }
            let copies = routing.targets.iter().flat_map(|route| {
                let edge = &self[route.target.edge];
                route.sources.iter().filter_map(|source| match source {
                    KeySource::Beside(name) => Some(edge.beside(name)),
                    KeySource::Unknown | KeySource::Own(_) => None,
                })
            });
            let read = routing.fixed().map(str::to_owned).chain(copies).collect();
            routing.read = read;
        }
        routings.retain(|_, routing| !routing.read.is_empty());
        self.routings = routings.into();
    }
}

fn add(all: &mut Vec<&'static str>, more: impl IntoIterator<Item = &'static str>) {
    for name in more {
        if !all.contains(&name) {
            all.push(name);
        }
    }
}

/// The stored names of the fields in `same(…)`.
pub(crate) fn same(edge: &Edge) -> impl Iterator<Item = &'static str> {
    let fields = edge.reference.same.iter();
    fields.filter_map(|rust| own_field(edge.holder, rust).map(|field| field.name))
}

fn own_field(meta: &DocumentMeta, rust: &str) -> Option<&'static FieldMeta> {
    meta.fields().iter().find(|field| field.rust == rust)
}

fn target_routes(edge: &Edge) -> impl Iterator<Item = TargetRoute> {
    edge.targets.iter().filter_map(|target| {
        let sources: Vec<KeySource> = target
            .meta
            .key_beside_id()
            .map(|name| {
                let copy = edge.copies.iter().find(|copy| copy.source == name);
                match (same(edge).find(|same| *same == name), copy) {
                    (Some(own), _) => KeySource::Own(own),
                    (None, Some(copy)) if !edge.list => KeySource::Beside(copy.name),
                    (None, _) => KeySource::Unknown,
                }
            })
            .collect();
        let is_known = sources.iter().any(|source| !matches!(source, KeySource::Unknown));
        is_known.then_some(TargetRoute {
            target: *target,
            sources,
        })
    })
}

fn check_same(edge: &Edge, problems: &mut Vec<String>) {
    let label = format!("{}.{}", edge.holder.name, edge.path);
    if !edge.reference.same.is_empty() && !edge.reference.check {
        problems.push(format!(
            "`{label}` has `same`, which every write compares with the document that it names, and `check = false`, by which there need \
             be none: leave out one of them"
        ));
    }
    for name in edge.reference.same {
        let Some(own) = own_field(edge.holder, name) else {
            problems.push(format!(
                "`{label}` has `same({name})`, and `{}` has no field `{name}`: `same` names fields of the whole document, as in Rust",
                edge.holder.name
            ));
            continue;
        };
        let shape = (own.shape)();
        if !own.required || matches!(shape, shape::Shape::Optional(_)) {
            problems.push(format!(
                "`{label}` has `same({name})`, and `{}.{name}` may be missing or `null`: the other document is found by its value, so \
                 every document has to have one",
                edge.holder.name
            ));
        }
        for target in &edge.targets {
            let other = target.meta.field(own.name);
            let is_alike = other.is_some_and(|other| {
                std::mem::discriminant(&shape::inner((other.shape)()))
                    == std::mem::discriminant(&shape::inner(shape))
            });
            if !is_alike {
                problems.push(format!(
                    "`{label}` has `same({name})`, and `{}` has no field `{}` of the same type: a reference is to a document with the same \
                     value",
                    target.meta.name, own.name
                ));
            }
        }
    }
}
