//! Checks that the targets of a write's references exist: before the write, and again after it.
//!
//! The second check closes the race with a delete without a lock. A delete looks for references to the document afterwards; a
//! write of a reference looks for its target afterwards. The later of the two looks sees the other one's write.

mod back;

use crate::engine::apply;
use crate::engine::obligations::Images;
use crate::model::bucket::VERSION;
use crate::model::document::DocumentMeta;
use crate::model::graph::edge::Edge;
use crate::model::graph::{Graph, is};
use crate::model::key;
use crate::model::key::Key;
use crate::model::reference::OnDelete;
use crate::plan::operation::Write;
use crate::plan::touches::How;
use crate::plan::write::each_of_document;
use crate::rules::copy::fill;
use crate::rules::exists::back::{Own, put_back};
use crate::rules::link::{by_ids, id};
use crate::rules::pending::Token;
use crate::store::scope::{Scope, Statement};
use crate::{Error, Result};
use futures::{StreamExt, TryStreamExt, stream};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Maximum number of queries that run at once.
const AT_ONCE: usize = 8;

/// The references that a write adds, by one edge to one collection.
#[derive(Clone, Debug)]
pub(crate) struct AddedRefs {
    /// The position of the edge in the graph.
    edge: usize,
    /// The position of the collection among the edge's targets.
    target: usize,
    keys: Vec<(Key, Bson)>,
    known: HashSet<Key>,
    /// The effect of the write at their position.
    how: How,
    /// The missing ones that every document of the write had before: they are not checked again.
    had: HashSet<Key>,
}

/// Maximum number of documents that are read for a condition: if that many were read, more may match.
pub(crate) const MANY: usize = 1_000;

/// Maximum number of times that documents are read again which others change meanwhile.
const ATTEMPTS: usize = 10;

/// A field of a collection by whose values documents are found.
type Column = (&'static str, &'static str);

/// All references that these writes add, of edges that are checked.
pub(crate) fn added_refs<'w>(graph: &Graph, writes: impl Iterator<Item = &'w Write>) -> Vec<AddedRefs> {
    let mut all: Vec<AddedRefs> = Vec::new();
    for write in writes {
        for edge in checked(graph, write.meta) {
            let how = write.how(edge);
            write.each_added(edge, &mut |target, key, value| {
                add(&mut all, edge, target, (key, value), how)
            });
        }
    }
    all
}

/// The references of a whole document, of edges that are checked.
pub(crate) fn refs_of(
    graph: &Graph,
    meta: &'static DocumentMeta,
    document: &RawDocumentBuf,
) -> Vec<AddedRefs> {
    let mut all: Vec<AddedRefs> = Vec::new();
    for edge in checked(graph, meta) {
        each_of_document(edge, document, &mut |target, key, value| {
            add(&mut all, edge, target, (key, value), How::Replaces);
        });
    }
    all
}

fn checked<'g>(graph: &'g Graph, meta: &'static DocumentMeta) -> impl Iterator<Item = &'g Edge> {
    let edges = graph.outgoing(meta);
    edges.filter(|edge| !edge.is_two_way() && edge.reference.check)
}

fn add(all: &mut Vec<AddedRefs>, edge: &Edge, target: usize, (key, value): (&Key, &Bson), how: How) {
    let is_of = |one: &&mut AddedRefs| one.edge == edge.at && one.target == target;
    if let Some(added) = all.iter_mut().find(is_of) {
        added.how = added.how.max(how);
        if added.known.insert(key.clone()) {
            added.keys.push((key.clone(), value.clone()));
        }
        return;
    }
    all.push(AddedRefs {
        edge: edge.at,
        target,
        keys: vec![(key.clone(), value.clone())],
        known: HashSet::from([key.clone()]),
        how,
        had: HashSet::new(),
    });
}

/// The questions to the database.
#[derive(Default)]
struct Asked {
    columns: Vec<(&'static DocumentMeta, &'static str, Vec<Key>)>,
    known: HashMap<Column, HashSet<Key>>,
}

impl Asked {
    fn add(&mut self, meta: &'static DocumentMeta, by: &'static str, key: &Key) {
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
    async fn ask(self, scope: &Scope<'_>) -> Result<HashMap<Column, HashSet<Key>>> {
        let mut queries = Vec::new();
        for (meta, by, keys) in &self.columns {
            for keys in key::chunks(keys) {
                queries.push(async move {
                    let filter = doc! { *by: { "$in": keys } };
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

/// References by one edge to one collection whose targets are missing: the positions of both, and what they name.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    edge: usize,
    target: usize,
    keys: Vec<(Key, Bson)>,
}

impl Missing {
    fn error(self, graph: &Graph) -> Result<()> {
        let Some(edge) = graph.edge(self.edge) else {
            return Ok(());
        };
        Err(Error::MissingReference {
            collection: edge.holder.collection,
            field: edge.path.clone(),
            target: edge
                .targets
                .get(self.target)
                .map_or("", |target| target.collection),
            ids: self.keys.into_iter().map(|(_, value)| value).collect(),
        })
    }
}

/// Returns the missing targets before the write. Documents that the write inserts itself count as existing.
pub(crate) async fn before<'w>(
    scope: &Scope<'_>,
    graph: &Graph,
    added: &[AddedRefs],
    writes: impl Iterator<Item = &'w Write> + Clone,
) -> Result<Vec<Missing>> {
    let columns: Vec<Column> = added.iter().filter_map(|one| one.column(graph)).collect();
    let own = inserted(writes, &columns);
    let is_own = |column: Column, key: &Key| own.get(&column).is_some_and(|keys| keys.contains(key));
    let mut asked = Asked::default();
    for one in added {
        let Some((edge, meta)) = one.edge(graph) else {
            continue;
        };
        let column = (meta.collection, edge.by());
        for (key, _) in one.asked().filter(|(key, _)| !is_own(column, key)) {
            asked.add(meta, edge.by(), key);
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
    let mut edges = missing.iter().filter_map(|one| graph.edge(one.edge));
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
        let Some(edge) = graph.edge(one.edge) else {
            continue;
        };
        let has = |document: &RawDocumentBuf, key: &Key| edge.keys(one.target, document).contains(key);
        let is_new = |key: &Key| {
            let mut writes = writes.iter().filter(|write| is(write.meta, edge.holder));
            writes.any(|write| {
                let mut names_it = false;
                write.each_added(edge, &mut |target, added, _| {
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
            return new.error(graph).map(|()| Vec::new());
        }
    }
    Ok(missing)
}

/// Marks missing references that the documents had before: they are not checked again.
pub(crate) fn leave(added: &mut [AddedRefs], had: &[Missing]) {
    for one in added {
        let of_it = |had: &&Missing| had.edge == one.edge && had.target == one.target;
        let keys = had.iter().filter(of_it).flat_map(|had| &had.keys);
        one.had.extend(keys.map(|(key, _)| key.clone()));
    }
}

fn missing(
    graph: &Graph,
    added: &[AddedRefs],
    is_there: impl Fn(Column, &Key) -> bool,
) -> impl Iterator<Item = Missing> {
    added.iter().filter_map(move |one| {
        let column = one.column(graph)?;
        let keys = one.asked().filter(|(key, _)| !is_there(column, key));
        let keys: Vec<(Key, Bson)> = keys.cloned().collect();
        (!keys.is_empty()).then_some(Missing {
            edge: one.edge,
            target: one.target,
            keys,
        })
    })
}

impl AddedRefs {
    pub(crate) fn edge<'g>(&self, graph: &'g Graph) -> Option<(&'g Edge, &'static DocumentMeta)> {
        let edge = graph.edge(self.edge)?;
        Some((edge, edge.targets.get(self.target).copied()?))
    }

    /// Those whose targets have to be there.
    fn asked(&self) -> impl Iterator<Item = &(Key, Bson)> {
        self.keys.iter().filter(|(key, _)| !self.had.contains(key))
    }

    fn column(&self, graph: &Graph) -> Option<Column> {
        let (edge, meta) = self.edge(graph)?;
        Some((meta.collection, edge.by()))
    }
}

/// The written references, so that they can be undone.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The ids of the documents that were inserted.
    pub(crate) inserted: Vec<(&'static DocumentMeta, Vec<Bson>)>,
    /// The documents that were changed, as they were: those fields that hold references, and the copies beside them.
    pub(crate) changed: Vec<(&'static DocumentMeta, Vec<RawDocumentBuf>)>,
}

/// The targets that are checked again after a write.
#[derive(Debug)]
pub(crate) struct Recheck {
    added: Vec<AddedRefs>,
    written: Written,
}

impl Recheck {
    /// `None` where nothing has to be asked: a reference that is kept when its target is deleted may as well be written
    /// just before.
    pub(crate) fn of(graph: &Graph, added: Vec<AddedRefs>, written: Written) -> Option<Recheck> {
        let added: Vec<AddedRefs> = added
            .into_iter()
            .filter(|one| {
                let kept = |edge: &Edge| edge.reference.on_delete == OnDelete::Keep;
                one.asked().next().is_some() && !graph.edge(one.edge).is_none_or(kept)
            })
            .collect();
        (!added.is_empty()).then_some(Recheck { added, written })
    }
}

/// Checks after the writes; where a target has been deleted, the write that refers to it is undone.
///
/// # Errors
/// [`Error::MissingReference`].
pub(crate) async fn after(scope: &Scope<'_>, rechecks: &[Recheck]) -> Result<()> {
    let graph = scope.odm.graph();
    let mut first = None;
    let mut failed = Ok(());
    let mut open: Vec<&Recheck> = rechecks.iter().collect();
    while !open.is_empty() {
        let mut asked = Asked::default();
        for one in open.iter().flat_map(|recheck| &recheck.added) {
            let Some((edge, meta)) = one.edge(graph) else {
                continue;
            };
            for (key, _) in one.asked() {
                asked.add(meta, edge.by(), key);
            }
        }
        let there = match asked.ask(scope).await {
            Ok(there) => there,
            // The missing targets of an earlier round are returned rather than this error.
            Err(error) => {
                match first {
                    None => first = Some(error),
                    Some(_) => tracing::warn!(
                        target: "odm",
                        %error,
                        "checking for more references to deleted documents failed; `audit()` finds those that dangle"
                    ),
                }
                break;
            }
        };
        let is_there = |column: Column, key: &Key| there.get(&column).is_some_and(|keys| keys.contains(key));
        let before = open.len();
        let mut kept = Vec::new();
        for recheck in open {
            let missing = missing(graph, &recheck.added, is_there).next();
            match missing.map_or(Ok(()), |missing| missing.error(graph)) {
                Ok(()) => kept.push(recheck),
                Err(error) => {
                    failed = failed.and(recheck.take_back(scope, graph, &is_there).await);
                    first.get_or_insert(error);
                }
            }
        }
        // An undone insert may be the target of another one.
        open = match kept.len() == before {
            true => Vec::new(),
            false => kept,
        };
    }
    failed.and(first.map_or(Ok(()), Err))
}

impl Recheck {
    /// Whether the write has added this reference.
    fn adds(&self, edge: &Edge, target: usize, key: &Key) -> bool {
        self.added.iter().any(|one| {
            let is_it = one.edge == edge.at && one.target == target;
            is_it && one.keys.iter().any(|(added, _)| added == key)
        })
    }

    /// The effect of the write on the references of this edge.
    fn how(&self, edge: &Edge) -> How {
        let of_edge = self.added.iter().filter(|one| one.edge == edge.at);
        of_edge.map(|one| one.how).max().unwrap_or(How::Adds)
    }

    async fn take_back(
        &self,
        scope: &Scope<'_>,
        graph: &Graph,
        is_there: &(impl Fn(Column, &Key) -> bool + Sync),
    ) -> Result<()> {
        // One that can't be taken back does not keep the others.
        let mut failed = Ok(());
        let mut changed: Vec<(&'static DocumentMeta, Cow<'_, [RawDocumentBuf]>)> = Vec::new();
        for (meta, ids) in &self.written.inserted {
            let removed = match meta.bucket {
                Some(bucket) if !self.lacks(graph, bucket.parent, is_there) => {
                    let left = self
                        .remove_untouched(scope, graph, (meta, bucket.items), ids)
                        .await;
                    left.map(|left| changed.push((meta, left.into())))
                }
                _ => crate::engine::obligations::remove(scope, meta, ids).await,
            };
            failed = failed.and(removed);
        }
        let known = self.written.changed.iter();
        changed.extend(known.map(|(meta, documents)| (*meta, documents.as_slice().into())));
        let mut tokens = Vec::new();
        for (meta, documents) in &changed {
            let (token, mut leaves_work) = (Token::new(), false);
            let documents = (*meta, documents.as_ref());
            let restored = self.restore(scope, graph, is_there, documents, (token, &mut leaves_work));
            failed = failed.and(restored.await);
            if leaves_work {
                tokens.push((*meta, token));
            }
        }
        // After the last one: a failure of pending work must neither keep a reference from being undone, nor hide the missing
        // targets from the caller.
        apply::log_undrained(apply::drain_all(scope, tokens).await);
        failed
    }

    /// Whether a target is missing that the write has named in this field.
    fn lacks(&self, graph: &Graph, field: &str, is_there: &impl Fn(Column, &Key) -> bool) -> bool {
        self.added.iter().any(|one| {
            let of_field = one.edge(graph).filter(|(edge, _)| edge.path == field);
            of_field.is_some_and(|(edge, meta)| {
                let column = (meta.collection, edge.by());
                one.keys.iter().any(|(key, _)| !is_there(column, key))
            })
        })
    }

    /// Removes new buckets in which an item refers to a missing target, if no other client has written to them. The others are
    /// returned as they would be without the items that they were created with.
    async fn remove_untouched(
        &self,
        scope: &Scope<'_>,
        graph: &Graph,
        (meta, items): (&'static DocumentMeta, &str),
        ids: &[Bson],
    ) -> Result<Vec<RawDocumentBuf>> {
        // Fields that others derive from a bucket have to be updated before it is deleted, and an item that is pushed meanwhile
        // would be lost.
        if graph.derived_from(meta).next().is_none() && !graph.is_child_of_others(meta) {
            scope
                .delete(meta, doc! { "_id": { "$in": ids }, VERSION: 1_i64 })
                .await?;
        }
        let left = scope.there(meta, ids).await?;
        let empty = left.iter().map(|there| {
            let empty = doc! { "_id": crate::store::batch::document_id(there), items: [] };
            RawDocumentBuf::try_from(&empty)
        });
        empty.collect::<Result<_, _>>().map_err(|source| Error::Encode {
            field: items.to_owned(),
            source: Box::new(source),
        })
    }

    /// Takes out of the documents of one collection what dangles in them since they were changed.
    async fn restore(
        &self,
        scope: &Scope<'_>,
        graph: &Graph,
        is_there: &(impl Fn(Column, &Key) -> bool + Sync),
        (meta, documents): (&'static DocumentMeta, &[RawDocumentBuf]),
        (token, leaves_work): (Token, &mut bool),
    ) -> Result<()> {
        let edges: Vec<&Edge> = self
            .added
            .iter()
            .filter_map(|one| graph.edge(one.edge))
            .filter(|edge| is(edge.holder, meta))
            .collect();
        let names = roots(edges.iter().copied());
        let keys: Vec<Key> = documents.iter().map(id).collect();
        // Where others change a document meanwhile it is looked at again: what it was given may be there still.
        for _ in 0..ATTEMPTS {
            let now: HashMap<Key, RawDocumentBuf> = by_ids(scope, meta, keys.iter(), names.iter().copied())
                .await?
                .into_iter()
                .map(|document| (id(&document), document))
                .collect();
            let statements: Vec<Statement> = documents
                .iter()
                .filter_map(|before| {
                    let now = now.get(&id(before))?;
                    let dangles = |edge: &&Edge| {
                        edge.targets.iter().enumerate().any(|(at, target)| {
                            let before: HashSet<Key> = edge.keys(at, before).into_iter().collect();
                            let column = (target.collection, edge.by());
                            let is_new = |key: &Key| self.adds(edge, at, key) && !before.contains(key);
                            let mut keys = edge.keys(at, now).into_iter();
                            keys.any(|key| is_new(&key) && !is_there(column, &key))
                        })
                    };
                    // Only references that this write has added, and that dangle now and did not before.
                    let dangling: Vec<&Edge> = edges.iter().copied().filter(dangles).collect();
                    let own = Own {
                        added: &|edge, target, key| self.adds(edge, target, key),
                        removed: &|edge, target, key| {
                            self.how(edge) != How::Adds && !self.adds(edge, target, key)
                        },
                        how: &|edge| self.how(edge),
                    };
                    put_back(before, now, &dangling, &own)
                })
                .map(|mut back| {
                    if let Some(bucket) = meta.bucket {
                        crate::rules::bucket::retell(bucket, &mut back.update)?;
                    }
                    *leaves_work |= fill::given_back(graph, meta, &mut back.update, token);
                    Ok(back)
                })
                .collect::<Result<_>>()?;
            if statements.is_empty() || scope.update(meta, &statements).await? >= statements.len() as u64 {
                return Ok(());
            }
        }
        tracing::warn!(
            target: "odm",
            collection = meta.collection,
            "could not undo new references to documents that were deleted meanwhile, because other writers keep changing the \
             documents that hold them; `audit` lists those that dangle"
        );
        Ok(())
    }
}

/// The fields of the document in which these references stand, each once.
pub(crate) fn roots<'e>(edges: impl Iterator<Item = &'e Edge>) -> Vec<&'e str> {
    let mut known = HashSet::new();
    edges.map(Edge::root).filter(|root| known.insert(*root)).collect()
}
