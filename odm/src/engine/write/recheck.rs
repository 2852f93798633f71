//! The second check of references, after a write: where a target has been deleted meanwhile, the write that refers to it is undone.

use crate::engine::write::drain;
use crate::graph::edge::Edge;
use crate::graph::sync::is_atomic;
use crate::graph::{Graph, is};
use crate::model::key::{self, Key};
use crate::model::meta::bucket::VERSION;
use crate::model::meta::{DocumentMeta, OnDelete};
use crate::model::own_fields::Token;
use crate::plan::links::Diff;
use crate::plan::put_back::{OwnReferences, put_back};
use crate::plan::touches::How;
use crate::rules::exists::{AddedRefs, AskedTargets, Column, missing, roots};
use crate::rules::library::Rewrite;
use crate::rules::link::other_side::{effects_of, node, values};
use crate::rules::needed;
use crate::rules::rule::{DeferredWork, Effects};
use crate::store::batch::{by_ids, id};
use crate::store::fields::at;
use crate::store::scope::{Scope, Statement};
use crate::store::transaction;
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The written references, so that they can be undone.
#[derive(Debug, Default)]
pub(crate) struct WrittenReferences {
    /// The ids of the documents that were inserted.
    pub(crate) inserted: Vec<(&'static DocumentMeta, Vec<Bson>)>,
    /// The documents that were changed, as they were: those fields that hold references, and the copies beside them.
    pub(crate) changed: Vec<(&'static DocumentMeta, Vec<RawDocumentBuf>)>,
}

/// References to documents of one collection: by edge, the position of the collection among its targets, and keys.
type Named = HashMap<(usize, usize), HashSet<Key>>;

/// The targets that are checked again after a write.
#[derive(Debug)]
pub(crate) struct Recheck {
    added: Vec<AddedRefs>,
    written: WrittenReferences,
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
        let mut asked = AskedTargets::default();
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
        open = if kept.len() == before { Vec::new() } else { kept };
    }
    failed.and(first.map_or(Ok(()), Err))
}

/// Maximum number of times that documents are read again which others change meanwhile.
pub(crate) const ATTEMPTS: usize = 10;

impl Recheck {
    /// `None` where nothing has to be asked: a reference that is kept when its target is deleted may as well be written
    /// just before.
    pub(crate) fn of(graph: &Graph, added: Vec<AddedRefs>, written: WrittenReferences) -> Option<Recheck> {
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
        let mut effects = Effects::of(false, Token::new());
        for (meta, ids) in &self.written.inserted {
            let named = match names_of(scope, graph, meta, ids).await {
                Ok(named) => named,
                Err(error) => {
                    failed = failed.and(Err(error));
                    Named::new()
                }
            };
            let removed = match meta.bucket {
                Some(bucket) if !self.lacks(graph, bucket.parent, is_there) => {
                    let left = self
                        .remove_untouched(scope, graph, (meta, bucket.items), ids)
                        .await;
                    left.map(|left| changed.push((meta, left.into())))
                }
                _ => remove(scope, meta, ids).await,
            };
            failed = failed.and(removed);
            failed = failed.and(empty_gone(scope, graph, named, None, &mut effects).await);
        }
        let known = self.written.changed.iter();
        changed.extend(known.map(|(meta, documents)| (*meta, documents.as_slice().into())));
        for (meta, documents) in &changed {
            let documents = (*meta, documents.as_ref());
            let mut lost = Named::new();
            let restored = self.restore(scope, graph, is_there, documents, (&mut effects, &mut lost));
            failed = failed.and(restored.await);
            let ids = documents.1.iter().map(crate::store::batch::document_id).collect();
            failed = failed.and(empty_gone(scope, graph, lost, Some(ids), &mut effects).await);
        }
        // After the last one: a failure of pending work must neither keep a reference from being undone, nor hide the missing
        // targets from the caller.
        drain::log_undrained(effects.deferred.drain(scope).await);
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

    /// Takes out of the documents of one collection what dangles in them since they were changed, and gives them back what they have
    /// lost by the change.
    async fn restore(
        &self,
        scope: &Scope<'_>,
        graph: &Graph,
        is_there: &(impl Fn(Column, &Key) -> bool + Sync),
        (meta, documents): (&'static DocumentMeta, &[RawDocumentBuf]),
        (effects, lost): (&mut Effects, &mut Named),
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
            let mut followed: Vec<String> = Vec::new();
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
                    let own = OwnReferences {
                        added: &|edge, target, key| self.adds(edge, target, key),
                        removed: &|edge, target, key| {
                            self.how(edge) != How::Adds && !self.adds(edge, target, key)
                        },
                        how: &|edge| self.how(edge),
                    };
                    for edge in &dangling {
                        for target in 0..edge.targets.len() {
                            let now: HashSet<Key> = edge.keys(target, now).into_iter().collect();
                            let before = edge.keys(target, before).into_iter();
                            let gone = before.filter(|key| !now.contains(key));
                            lost.entry((edge.at, target)).or_default().extend(gone);
                        }
                    }
                    put_back(before, now, &dangling, &own)
                })
                .map(|mut back| {
                    followed.extend(effects.give_back(graph, meta, &mut back.update)?);
                    Ok(back)
                })
                .collect::<Result<_>>()?;
            if statements.is_empty() {
                return Ok(());
            }
            let given_back = if followed.is_empty() || !scope.odm.has_transactions().await? {
                scope.update(meta, &statements).await?
            } else {
                let ids: Vec<Bson> = keys.iter().map(Key::to_bson).collect();
                let (ids, statements, followed) = (&ids, &statements, &followed);
                let token = effects.later();
                let (given_back, left) = transaction::take_turns(scope.odm, Vec::new(), async |session| {
                    scope.trip(); // its commit
                    let scope = scope.within(&session);
                    let mut effects = Effects::of(true, token);
                    let given_back = scope.update(meta, statements).await?;
                    effects.pass_on(graph, meta, ("_id", ids.clone()), followed.clone());
                    let (_, left) = effects.end(&scope).await?;
                    Ok((given_back, left))
                })
                .await?;
                effects.deferred.add_all(left);
                given_back
            };
            if given_back >= statements.len() as u64 {
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

/// By which references these documents are named, where a deletion takes those out of the documents that hold them.
async fn names_of(
    scope: &Scope<'_>,
    graph: &Graph,
    meta: &'static DocumentMeta,
    ids: &[Bson],
) -> Result<Named> {
    let mut named = Named::new();
    for edge in graph.incoming(meta).filter(|edge| is_taken_out(edge)) {
        let Some(target) = edge.target(meta) else { continue };
        let keys = match edge.by() {
            "_id" => ids.iter().map(Key::of_bson).collect(),
            by => {
                let ids: Vec<Key> = ids.iter().map(Key::of_bson).collect();
                let documents = by_ids(scope, meta, ids.iter(), [by]).await?;
                let keys = documents.iter().filter_map(|document| at(document, by));
                keys.map(Key::of).collect()
            }
        };
        named.insert((edge.at, target), keys);
    }
    Ok(named)
}

/// Whether a deletion empties such references. Those of two-way references are changed together with their other side.
fn is_taken_out(edge: &Edge) -> bool {
    matches!(edge.reference.on_delete, OnDelete::Nullify | OnDelete::Pull) && !edge.is_two_way()
}

/// Undoing a write is a write that other clients may meet: what it gives back may have been deleted meanwhile, and what it removes
/// may have been referred to. So it looks once more, as a deletion does behind it, and takes out references to what is gone: in these
/// documents, or in all. A rule that restricts or deletes has no such answer, and `audit` finds what dangles.
async fn empty_gone(
    scope: &Scope<'_>,
    graph: &Graph,
    named: Named,
    within: Option<Vec<Bson>>,
    effects: &mut Effects,
) -> Result<()> {
    let named: Vec<(&Edge, usize, HashSet<Key>)> = named
        .into_iter()
        .filter_map(|((edge, target), keys)| Some((graph.edge(edge)?, target, keys)))
        .filter(|(edge, _, keys)| is_taken_out(edge) && !keys.is_empty())
        .collect();
    let mut asked = AskedTargets::default();
    for (edge, target, keys) in &named {
        if let Some(meta) = edge.targets.get(*target) {
            keys.iter().for_each(|key| asked.add(meta, edge.by(), key));
        }
    }
    let there = asked.ask(scope).await?;
    for (edge, target, keys) in named {
        let Some(meta) = edge.targets.get(target) else {
            continue;
        };
        let there = there.get(&(meta.collection, edge.by()));
        let gone = keys
            .iter()
            .filter(|key| there.is_none_or(|there| !there.contains(key)));
        let gone: Vec<Bson> = gone.map(Key::to_bson).collect();
        if gone.is_empty() {
            continue;
        }
        let mut change = edge.detachment(target, &gone);
        effects.complete(graph, Rewrite::detachment(edge), &mut change.update);
        let within = within.as_ref().map(|ids| doc! { "_id": { "$in": ids } });
        let refers = edge.holders_of(target, gone);
        let filter = crate::store::filter::all(within.into_iter().chain([refers]));
        scope.change(edge.holder, filter, change).await?;
    }
    Ok(())
}

/// Takes back inserts: deletes documents that were inserted a moment ago, and what links others with them.
fn remove<'s>(
    scope: &'s Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &'s [Bson],
) -> BoxFuture<'s, Result<()>> {
    async move {
        let graph = scope.odm.graph();
        let mut derived = graph.derived_from(meta);
        let is_followed = derived.any(|derived| is_atomic(derived.sync, true));
        let left = if (graph.is_linked(meta) || is_followed) && scope.odm.has_transactions().await? {
            transaction::take_turns(scope.odm, Vec::new(), |session| async move {
                scope.trip(); // its commit
                unlink(&scope.within(&session), meta, ids, is_followed).await
            })
            .await?
        } else {
            unlink(scope, meta, ids, false).await?
        };
        left.drain(scope).await.map(drop)
    }
    .boxed()
}

/// Returns what is to be done after the commit. `is_followed` says that this is a transaction which updates what is derived of the
/// documents.
async fn unlink(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &[Bson],
    is_followed: bool,
) -> Result<DeferredWork> {
    let graph = scope.odm.graph();
    let edges = || graph.outgoing(meta).filter(|edge| edge.is_two_way());
    let mut effects = Effects::new(scope);
    let keys: Vec<Key> = ids.iter().map(Key::of_bson).collect();
    if graph.is_linked(meta) {
        let mut diff = Diff::default();
        for document in by_ids(scope, meta, keys.iter(), roots(edges())).await? {
            let Some(holder) = node(&document) else { continue };
            for edge in edges() {
                diff.add(edge, &holder, &values(edge, &document), &[])?;
            }
        }
        let links = effects_of(scope, graph, &diff).await?;
        effects.written(scope, None, &links).await?;
    }
    if is_followed {
        for ids in key::chunks(&keys) {
            let which = doc! { "_id": { "$in": ids } };
            let documents = scope.every(meta, which.clone(), needed(graph, meta)).await?;
            scope.delete(meta, which).await?;
            let documents: Vec<&RawDocumentBuf> = documents.iter().collect();
            effects.deleted(scope, meta, &documents).await?;
        }
        let (_, left) = effects.end(scope).await?;
        return Ok(left);
    }
    let (_, mut left) = effects.end(scope).await?;
    // Fields that are derived from them are derived without them before they are deleted.
    let derives = graph.derived_from(meta).next().is_some() || graph.is_child_of_others(meta);
    let token = Token::new();
    for ids in key::chunks(&keys) {
        let which = doc! { "_id": { "$in": ids } };
        if derives {
            drain::mark_gone(scope, meta, which, token).await?
        } else {
            scope.delete(meta, which).await?
        };
    }
    if derives {
        left.add(meta, token);
    }
    Ok(left)
}
