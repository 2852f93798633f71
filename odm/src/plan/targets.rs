//! The references that writes add, and those of them whose targets are missing. Pure: the questions to the database are in `rules/exists`.

use crate::graph::edge::{Edge, ReferenceTarget};
use crate::graph::routing::same;
use crate::graph::sync::missing_targets;
use crate::graph::{Graph, is};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::reference::OnDelete;
use crate::plan::images::BeforeImages;
use crate::plan::operation::{Write, each_of_document};
use crate::plan::touches::ArrayEffect;
use crate::store::batch::id;
use crate::{Error, Result};
use mongodb::bson::{Bson, RawDocument, RawDocumentBuf};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The references that a write adds, by one edge to one collection.
#[derive(Clone, Debug)]
pub(crate) struct AddedReferences {
    pub(crate) target: ReferenceTarget,
    pub(crate) keys: Vec<(Key, Bson)>,
    pub(crate) known: HashSet<Key>,
    /// The effect of the write at their position.
    pub(crate) how: ArrayEffect,
    /// The missing ones that every document of the write had before: they are not checked again.
    pub(crate) had: HashSet<Key>,
    /// The values that fields of the targets have to have, by the targets: those of `same`.
    pub(crate) same: HashMap<Key, Vec<SameFields>>,
}

/// The fields of `same(…)` with their values in a document.
pub(crate) type SameFields = Arc<[(&'static str, Key)]>;

/// Maximum number of documents that are read for a condition: if that many were read, more may match.
pub(crate) const MANY: usize = 1_000;

/// A field of a collection by whose values documents are found.
pub(crate) type Column = (&'static str, &'static str);

/// All references that these writes add, of edges that are checked.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn added_references<'w>(
    graph: &Graph,
    writes: impl Iterator<Item = &'w Write>,
) -> Result<Vec<AddedReferences>> {
    let mut all: Vec<AddedReferences> = Vec::new();
    for write in writes {
        for edge in checked(graph, write.meta) {
            let how = write.how(edge);
            let same = same_fields(edge, |name| write.known_value(name));
            write.each_added(edge, &mut |target, key, value| {
                add(&mut all, target, (key, value), how, same.as_ref())
            })?;
        }
    }
    Ok(all)
}

/// The references of a whole document, of edges that are checked.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn references_in(
    graph: &Graph,
    meta: &'static DocumentMeta,
    document: &RawDocumentBuf,
) -> Result<Vec<AddedReferences>> {
    let mut all: Vec<AddedReferences> = Vec::new();
    for edge in checked(graph, meta) {
        let same = same_of_document(edge, document);
        each_of_document(edge, document, &mut |target, key, value| {
            add(
                &mut all,
                target,
                (key, value),
                ArrayEffect::Replaces,
                same.as_ref(),
            );
        })?;
    }
    Ok(all)
}

pub(crate) fn checked<'g>(graph: &'g Graph, meta: &'static DocumentMeta) -> impl Iterator<Item = &'g Edge> {
    let edges = graph.outgoing(meta);
    edges.filter(|edge| !edge.is_two_way() && edge.reference.check)
}

/// The references without whose targets a document can't be there: those with `cascade` or `restrict`.
pub(crate) fn dependent<'g>(graph: &'g Graph, meta: &'static DocumentMeta) -> impl Iterator<Item = &'g Edge> {
    let holds = |rule: OnDelete| matches!(rule, OnDelete::Cascade | OnDelete::Restrict);
    graph
        .outgoing(meta)
        .filter(move |edge| holds(edge.reference.on_delete))
}

/// The references of a document with `same` in one of these fields, which a write of it keeps or writes again, and the values that their targets have to
/// have after the write.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn kept_by_same(
    graph: &Graph,
    write: &Write,
    document: &RawDocumentBuf,
    names: &[&str],
) -> Result<Vec<AddedReferences>> {
    let mut all: Vec<AddedReferences> = Vec::new();
    for edge in graph.outgoing(write.meta) {
        if !same(edge).any(|name| names.contains(&name)) {
            continue;
        }
        let mut again: HashSet<Key> = HashSet::new();
        write.each_added(edge, &mut |_, key, _| {
            again.insert(key.clone());
        })?;
        let is_replaced = write.replaces_reference(edge);
        let stored = |name: &str| document.get(name).ok().flatten().map(Key::of);
        let same = same_fields(edge, |name| write.known_value(name).or_else(|| stored(name)));
        each_of_document(edge, document, &mut |target, key, value| {
            if !is_replaced || again.contains(key) {
                add(&mut all, target, (key, value), ArrayEffect::Adds, same.as_ref());
            }
        })?;
    }
    Ok(all)
}

/// Adds these references of documents.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn add_dependent<'d>(
    graph: &Graph,
    meta: &'static DocumentMeta,
    documents: impl Iterator<Item = &'d RawDocumentBuf>,
    all: &mut Vec<AddedReferences>,
) -> Result<()> {
    for document in documents {
        for edge in dependent(graph, meta) {
            let same = same_of_document(edge, document);
            each_of_document(edge, document, &mut |target, key, value| {
                add(all, target, (key, value), ArrayEffect::Replaces, same.as_ref());
            })?;
        }
    }
    Ok(())
}

/// The fields of `same(…)` of a reference, as a document has them.
fn same_of_document(edge: &Edge, document: &RawDocument) -> Option<SameFields> {
    same_fields(edge, |name| document.get(name).ok().flatten().map(Key::of))
}

fn same_fields(edge: &Edge, value: impl Fn(&str) -> Option<Key>) -> Option<SameFields> {
    let fields = same(edge).filter_map(|name| Some((name, value(name)?)));
    let fields: Vec<_> = fields.collect();
    (!fields.is_empty()).then(|| fields.into())
}

fn add(
    all: &mut Vec<AddedReferences>,
    target: ReferenceTarget,
    (key, value): (&Key, &Bson),
    how: ArrayEffect,
    same: Option<&SameFields>,
) {
    let is_of = |one: &&mut AddedReferences| one.target == target;
    let of_key = |all: &mut HashMap<Key, Vec<SameFields>>| {
        if let Some(same) = same {
            let known = all.entry(key.clone()).or_default();
            if !known.contains(same) {
                known.push(same.clone());
            }
        }
    };
    if let Some(added) = all.iter_mut().find(is_of) {
        added.how = added.how.max(how);
        of_key(&mut added.same);
        if added.known.insert(key.clone()) {
            added.keys.push((key.clone(), value.clone()));
        }
        return;
    }
    let mut same = HashMap::new();
    of_key(&mut same);
    all.push(AddedReferences {
        target,
        keys: vec![(key.clone(), value.clone())],
        known: HashSet::from([key.clone()]),
        how,
        had: HashSet::new(),
        same,
    });
}

/// The references with `same` that these writes add on one side of a link.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn linked_by_same<'w>(
    graph: &Graph,
    writes: impl Iterator<Item = &'w Write>,
) -> Result<Vec<AddedReferences>> {
    let mut all: Vec<AddedReferences> = Vec::new();
    for write in writes {
        let edges = graph.outgoing(write.meta);
        for edge in edges.filter(|edge| edge.is_two_way() && !edge.reference.same.is_empty()) {
            let same = same_fields(edge, |name| write.known_value(name));
            write.each_added(edge, &mut |target, key, value| {
                add(&mut all, target, (key, value), ArrayEffect::Adds, same.as_ref());
            })?;
        }
    }
    Ok(all)
}

/// Whether a document has these values in the fields of `same`.
pub(crate) fn is_same(document: &RawDocument, fields: &SameFields) -> bool {
    fields.iter().all(|(name, value)| {
        let stored = document.get(name).ok().flatten().map(Key::of);
        stored.as_ref() == Some(value)
    })
}

/// The keys by which documents can be found that these writes insert.
pub(crate) fn keys_of_inserts<'w>(
    writes: impl Iterator<Item = &'w Write> + Clone,
    columns: &[Column],
    counts: impl Fn(Column, &Key, &RawDocument) -> bool,
) -> HashMap<Column, HashSet<Key>> {
    let mut inserted: HashMap<Column, HashSet<Key>> = HashMap::new();
    for (collection, by) in columns {
        let of = writes
            .clone()
            .filter(|write| write.meta.collection == *collection);
        for write in of {
            if let Some(document) = write.inserted()
                && let Some(value) = document.get(by).ok().flatten()
                && counts((collection, by), &Key::of(value), document)
            {
                inserted
                    .entry((collection, by))
                    .or_default()
                    .insert(Key::of(value));
            }
        }
    }
    inserted
}

/// References by one edge to one collection whose targets are missing, and what they name.
#[derive(Clone, Debug)]
pub(crate) struct MissingReferences {
    pub(crate) target: ReferenceTarget,
    pub(crate) keys: Vec<(Key, Bson)>,
}

impl MissingReferences {
    /// The field of the target that the references name.
    pub(crate) fn column(&self, graph: &Graph) -> Column {
        (self.target.meta.collection, graph[self.target.edge].by())
    }

    pub(crate) fn error(self, graph: &Graph) -> Error {
        refused(graph, vec![self])
    }
}

/// The error that lists all of these.
pub(crate) fn refused(graph: &Graph, missing: Vec<MissingReferences>) -> Error {
    let listed = missing.into_iter().map(|one| {
        let ids = one.keys.into_iter().map(|(_, value)| value);
        missing_targets(&graph[one.target.edge], one.target.meta, ids.collect())
    });
    Error::missing_references(listed)
}

/// Whether a deletion of what is missing would have taken some of the references out.
pub(crate) fn may_be_taken_out(graph: &Graph, missing: &[MissingReferences]) -> bool {
    let mut edges = missing.iter().map(|one| &graph[one.target.edge]);
    edges.any(|edge| edge.reference.on_delete != OnDelete::Keep)
}

/// The missing targets to which the documents of the writes refer already. Writing such a reference again adds none: a document
/// that keeps a dangling reference can be replaced.
///
/// # Errors
/// [`Error::MissingReference`] if there are others.
pub(crate) fn had_before(
    graph: &Graph,
    missing: Vec<MissingReferences>,
    writes: &[Write],
    images: &BeforeImages,
) -> Result<Vec<MissingReferences>> {
    for one in &missing {
        let edge = &graph[one.target.edge];
        let has = |document: &RawDocumentBuf, key: &Key| edge.keys(one.target, document).contains(key);
        // What can't be read was refused when the references were collected.
        let is_new = |key: &Key| {
            let mut writes = writes.iter().filter(|write| is(write.meta, edge.holder));
            writes.any(|write| {
                let mut names_it = false;
                let _ = write.each_added(edge, &mut |target, added, _| {
                    names_it |= target == one.target && added == key;
                });
                if !names_it {
                    return false;
                }
                // An item that is added to an array is new there, and so may be everything that an upsert by a condition
                // writes.
                let adds = write.touches().is_some() && write.how(edge) == ArrayEffect::Adds;
                let inserts = write.is_upsert();
                let mut documents = images.of_collection(edge.holder);
                match write.changed_id() {
                    _ if adds || write.is_insert() => true,
                    None if inserts => true,
                    Some(id) => {
                        let id = Key::of_bson(id);
                        !documents.any(|document| self::id(&**document) == id && has(document, key))
                    }
                    // It is not known which of them match this condition, nor whether more match than were read.
                    None => {
                        let all = images.of_collection(edge.holder).count();
                        all == 0 || all >= MANY || !documents.all(|document| has(document, key))
                    }
                }
            })
        };
        let new: Vec<(Key, Bson)> = one.keys.iter().filter(|(key, _)| is_new(key)).cloned().collect();
        if !new.is_empty() {
            let new = MissingReferences {
                keys: new,
                ..one.clone()
            };
            return Err(new.error(graph));
        }
    }
    Ok(missing)
}

/// Marks missing references that the documents had before: they are not checked again.
pub(crate) fn exclude(added: &mut [AddedReferences], had: &[MissingReferences]) {
    for one in added {
        let of_it = |had: &&MissingReferences| had.target == one.target;
        let keys = had.iter().filter(of_it).flat_map(|had| &had.keys);
        one.had.extend(keys.map(|(key, _)| key.clone()));
    }
}

pub(crate) fn missing(
    graph: &Graph,
    added: &[AddedReferences],
    is_there: impl Fn(Column, &Key) -> bool,
) -> impl Iterator<Item = MissingReferences> {
    added.iter().filter_map(move |one| {
        let column = one.column(graph);
        let keys = one.asked().filter(|(key, _)| !is_there(column, key));
        let keys: Vec<(Key, Bson)> = keys.cloned().collect();
        (!keys.is_empty()).then_some(MissingReferences {
            target: one.target,
            keys,
        })
    })
}

/// Adds these to the missing ones, each once.
pub(crate) fn add_missing(all: &mut Vec<MissingReferences>, more: Vec<MissingReferences>) {
    for one in more {
        match all.iter_mut().find(|known| known.target == one.target) {
            Some(known) => {
                let had: HashSet<Key> = known.keys.iter().map(|(key, _)| key.clone()).collect();
                known
                    .keys
                    .extend(one.keys.into_iter().filter(|(key, _)| !had.contains(key)));
            }
            None => all.push(one),
        }
    }
}

impl AddedReferences {
    pub(crate) fn edge<'g>(&self, graph: &'g Graph) -> &'g Edge {
        &graph[self.target.edge]
    }

    /// Those whose targets have to be there.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &(Key, Bson)> {
        self.keys.iter().filter(|(key, _)| !self.had.contains(key))
    }

    /// The field of the target that the references name.
    pub(crate) fn column(&self, graph: &Graph) -> Column {
        (self.target.meta.collection, self.edge(graph).by())
    }
}

/// The fields of the document in which these references stand, each once.
pub(crate) fn roots<'e>(edges: impl Iterator<Item = &'e Edge>) -> Vec<&'e str> {
    let mut known = HashSet::new();
    edges.map(Edge::root).filter(|root| known.insert(*root)).collect()
}
