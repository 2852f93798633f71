//! Which fields of documents give the shard keys of the documents that they refer to.
//!
//! A statement that names a document by its `_id` alone is sent to all shards, unless `_id` is the shard key. The other fields of the
//! key are known by `same(field)`, which every write checks, and by copies of these fields: `move_to` alone changes a
//! shard key, in a transaction, together with these.

use crate::graph::edge::{Edge, ReferenceTarget};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::FieldMeta;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};

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
    pub(super) same: Vec<&'static str>,
}

/// Where a document has the fields of the shard key of a document that it refers to.
#[derive(Debug)]
pub(crate) struct TargetRoute {
    pub(crate) target: ReferenceTarget,
    /// For each field of the target's key.
    pub(super) sources: Vec<KeySource>,
}

/// Where a document has one field of that key.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeySource {
    Unknown,
    /// A field of the document.
    Own(&'static str),
    /// A copy beside the reference.
    Beside(&'static str),
}

impl Routing {
    /// The fields that no update changes, but for `move_to`: those of the shard key, and those that are the same in other documents.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = &'static str> {
        let more = self.same.iter().filter(|name| !self.key.contains(name));
        self.key.iter().chain(more).copied()
    }

    /// These fields of a document, as a condition, where it has all of them.
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

/// The stored names of the fields in `same(…)`.
pub(crate) fn same(edge: &Edge) -> impl Iterator<Item = &'static str> {
    let fields = edge.reference.same.iter();
    fields.filter_map(|rust| own_field(edge.holder, rust).map(|field| field.name))
}

pub(super) fn own_field(meta: &DocumentMeta, rust: &str) -> Option<&'static FieldMeta> {
    meta.fields().iter().find(|field| field.rust == rust)
}
