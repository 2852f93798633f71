//! Checks that the targets of a write's references exist: before the write, and again after it.
//!
//! The second check closes the race with a delete without a lock. A delete looks for references to the document afterwards; a
//! write of a reference looks for its target afterwards. The later of the two looks sees the other one's write.

use crate::graph::edge::{Edge, Target};
use crate::graph::sync::missing_targets;
use crate::graph::{Graph, is};
use crate::model::document::DocumentMeta;
use crate::model::key;
use crate::model::key::Key;
use crate::model::reference::OnDelete;
use crate::plan::operation::{Write, each_of_document};
use crate::plan::touches::How;
use crate::store::batch::id;
use crate::store::scope::Scope;
use crate::{Error, Result};
use futures::{StreamExt, TryStreamExt, stream};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Maximum number of queries that run at once.
const AT_ONCE: usize = 8;

/// The references that a write adds, by one edge to one collection.
#[derive(Clone, Debug)]
pub(crate) struct AddedRefs {
    pub(crate) target: Target,
    pub(crate) keys: Vec<(Key, Bson)>,
    pub(crate) known: HashSet<Key>,
    /// The effect of the write at their position.
    pub(crate) how: How,
    /// The missing ones that every document of the write had before: they are not checked again.
    pub(crate) had: HashSet<Key>,
}

/// Maximum number of documents that are read for a condition: if that many were read, more may match.
pub(crate) const MANY: usize = 1_000;

/// A field of a collection by whose values documents are found.
pub(crate) type Column = (&'static str, &'static str);

/// All references that these writes add, of edges that are checked.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn added_refs<'w>(
    graph: &Graph,
    writes: impl Iterator<Item = &'w Write>,
) -> Result<Vec<AddedRefs>> {
    let mut all: Vec<AddedRefs> = Vec::new();
    for write in writes {
        for edge in checked(graph, write.meta) {
            let how = write.how(edge);
            write.each_added(edge, &mut |target, key, value| {
                add(&mut all, target, (key, value), how)
            })?;
        }
    }
    Ok(all)
}

/// The references of a whole document, of edges that are checked.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn refs_of(
    graph: &Graph,
    meta: &'static DocumentMeta,
    document: &RawDocumentBuf,
) -> Result<Vec<AddedRefs>> {
    let mut all: Vec<AddedRefs> = Vec::new();
    for edge in checked(graph, meta) {
        each_of_document(edge, document, &mut |target, key, value| {
            add(&mut all, target, (key, value), How::Replaces);
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

/// Adds these references of documents.
///
/// # Errors
/// As [`each_of_document`].
pub(crate) fn add_dependent<'d>(
    graph: &Graph,
    meta: &'static DocumentMeta,
    documents: impl Iterator<Item = &'d RawDocumentBuf>,
    all: &mut Vec<AddedRefs>,
) -> Result<()> {
    for document in documents {
        for edge in dependent(graph, meta) {
            each_of_document(edge, document, &mut |target, key, value| {
                add(all, target, (key, value), How::Replaces);
            })?;
        }
    }
    Ok(())
}

fn add(all: &mut Vec<AddedRefs>, target: Target, (key, value): (&Key, &Bson), how: How) {
    let is_of = |one: &&mut AddedRefs| one.target == target;
    if let Some(added) = all.iter_mut().find(is_of) {
        added.how = added.how.max(how);
        if added.known.insert(key.clone()) {
            added.keys.push((key.clone(), value.clone()));
        }
        return;
    }
    all.push(AddedRefs {
        target,
        keys: vec![(key.clone(), value.clone())],
        known: HashSet::from([key.clone()]),
        how,
        had: HashSet::new(),
    });
}

/// The questions to the database.
#[derive(Default)]
pub(crate) struct AskedTargets {
    columns: Vec<(&'static DocumentMeta, &'static str, Vec<Key>)>,
    known: HashMap<Column, HashSet<Key>>,
}

impl AskedTargets {
    pub(crate) fn add(&mut self, meta: &'static DocumentMeta, by: &'static str, key: &Key) {
        if !self
            .known
            .entry((meta.collection, by))
            .or_default()
            .insert(key.clone())
        {
            return;
        }
        match self
            .columns
            .iter_mut()
            .find(|(other, name, _)| is(other, meta) && *name == by)
        {
            Some((_, _, keys)) => keys.push(key.clone()),
            None => self.columns.push((meta, by, vec![key.clone()])),
        }
    }

    /// Which of them there are.
    pub(crate) async fn ask(self, scope: &Scope<'_>) -> Result<HashMap<Column, HashSet<Key>>> {
        let mut queries = Vec::new();
        for (meta, by, keys) in &self.columns {
            for keys in key::chunks(keys) {
                queries.push(async move {
                    let filter = scope
                        .odm
                        .in_scope_of_existing(meta, doc! { *by: { "$in": keys } });
                    let found = scope.find(meta, filter, [*by], None).await?;
                    Ok::<_, Error>(((meta.collection, *by), found))
                });
            }
        }
        // Within a transaction they take turns.
        let found: Vec<_> = stream::iter(queries)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let mut there: HashMap<Column, HashSet<Key>> = HashMap::new();
        for (column, documents) in found {
            let keys = there.entry(column).or_default();
            for document in documents {
                keys.extend(document.get(column.1).ok().flatten().map(Key::of));
            }
        }
        Ok(there)
    }
}

/// The keys by which documents can be found that these writes insert.
fn inserted<'w>(
    writes: impl Iterator<Item = &'w Write> + Clone,
    columns: &[Column],
) -> HashMap<Column, HashSet<Key>> {
    let mut inserted: HashMap<Column, HashSet<Key>> = HashMap::new();
    for (collection, by) in columns {
        let of = writes
            .clone()
            .filter(|write| write.meta.collection == *collection);
        for write in of {
            if let Some(document) = write.inserted()
                && let Some(value) = document.get(by).ok().flatten()
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
pub(crate) struct Missing {
    pub(crate) target: Target,
    pub(crate) keys: Vec<(Key, Bson)>,
}

impl Missing {
    /// The field of the target that the references name.
    pub(crate) fn column(&self, graph: &Graph) -> Column {
        (self.target.meta.collection, graph[self.target.edge].by())
    }

    pub(crate) fn error(self, graph: &Graph) -> Error {
        refused(graph, vec![self])
    }
}

/// The error that lists all of these.
pub(crate) fn refused(graph: &Graph, missing: Vec<Missing>) -> Error {
    let listed = missing.into_iter().map(|one| {
        let ids = one.keys.into_iter().map(|(_, value)| value);
        missing_targets(&graph[one.target.edge], one.target.meta, ids.collect())
    });
    Error::missing_references(listed)
}

/// Returns the missing targets before the write. Documents that the write inserts itself count as existing.
pub(crate) async fn before<'w>(
    scope: &Scope<'_>,
    graph: &Graph,
    added: &[AddedRefs],
    writes: impl Iterator<Item = &'w Write> + Clone,
) -> Result<Vec<Missing>> {
    let columns: Vec<Column> = added.iter().map(|one| one.column(graph)).collect();
    missing_besides(scope, graph, added, &inserted(writes, &columns)).await
}

/// Returns the missing targets. Those with these keys count as existing.
pub(crate) async fn missing_besides(
    scope: &Scope<'_>,
    graph: &Graph,
    added: &[AddedRefs],
    own: &HashMap<Column, HashSet<Key>>,
) -> Result<Vec<Missing>> {
    let is_own = |column: Column, key: &Key| own.get(&column).is_some_and(|keys| keys.contains(key));
    let mut asked = AskedTargets::default();
    for one in added {
        let column = one.column(graph);
        for (key, _) in one.asked().filter(|(key, _)| !is_own(column, key)) {
            asked.add(one.target.meta, column.1, key);
        }
    }
    let there = asked.ask(scope).await?;
    let is_there = |column: Column, key: &Key| {
        is_own(column, key) || there.get(&column).is_some_and(|keys| keys.contains(key))
    };
    Ok(missing(graph, added, is_there).collect())
}

/// Whether a deletion of what is missing would have taken some of the references out.
pub(crate) fn may_go(graph: &Graph, missing: &[Missing]) -> bool {
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
    missing: Vec<Missing>,
    writes: &[Write],
    images: &Images,
) -> Result<Vec<Missing>> {
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
                let adds = write.touches().is_some() && write.how(edge) == How::Adds;
                let inserts = write.is_upsert();
                let mut documents = images.of(edge.holder);
                match write.changed() {
                    _ if adds => true,
                    None => true,
                    Some((_, None)) if inserts => true,
                    Some((_, Some(id))) => {
                        let id = Key::of_bson(id);
                        !documents.any(|document| self::id(document) == id && has(document, key))
                    }
                    // It is not known which of them match this condition, nor whether more match than were read.
                    Some((_, None)) => {
                        let all = images.of(edge.holder).count();
                        all == 0 || all >= MANY || !documents.all(|document| has(document, key))
                    }
                }
            })
        };
        let new: Vec<(Key, Bson)> = one.keys.iter().filter(|(key, _)| is_new(key)).cloned().collect();
        if !new.is_empty() {
            let new = Missing {
                keys: new,
                ..one.clone()
            };
            return Err(new.error(graph));
        }
    }
    Ok(missing)
}

/// Marks missing references that the documents had before: they are not checked again.
pub(crate) fn leave(added: &mut [AddedRefs], had: &[Missing]) {
    for one in added {
        let of_it = |had: &&Missing| had.target == one.target;
        let keys = had.iter().filter(of_it).flat_map(|had| &had.keys);
        one.had.extend(keys.map(|(key, _)| key.clone()));
    }
}

pub(crate) fn missing(
    graph: &Graph,
    added: &[AddedRefs],
    is_there: impl Fn(Column, &Key) -> bool,
) -> impl Iterator<Item = Missing> {
    added.iter().filter_map(move |one| {
        let column = one.column(graph);
        let keys = one.asked().filter(|(key, _)| !is_there(column, key));
        let keys: Vec<(Key, Bson)> = keys.cloned().collect();
        (!keys.is_empty()).then_some(Missing {
            target: one.target,
            keys,
        })
    })
}

impl AddedRefs {
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

/// The documents before the write.
#[derive(Debug, Default)]
pub(crate) struct Images {
    pub(crate) changed: Vec<(&'static DocumentMeta, Vec<RawDocumentBuf>)>,
    /// The references of theirs that the write keeps although nothing is there.
    pub(crate) lacking: Vec<Missing>,
}

impl Images {
    pub(crate) fn is_more_than(&self, most: usize) -> bool {
        self.changed
            .iter()
            .map(|(_, documents)| documents.len())
            .sum::<usize>()
            > most
    }

    pub(crate) fn of(&self, meta: &DocumentMeta) -> impl Iterator<Item = &RawDocumentBuf> + use<'_> {
        let collection = meta.collection;
        self.changed
            .iter()
            .filter(move |(meta, _)| meta.collection == collection)
            .flat_map(|(_, documents)| documents)
    }
}
