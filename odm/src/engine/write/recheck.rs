//! The second check of references, after a write: where a target has been deleted meanwhile, the write that refers to it is undone.

use crate::engine::write::drain;
use crate::graph::edge::{Edge, EdgeId, ReferenceTarget};
use crate::graph::sync::is_atomic;
use crate::graph::{Graph, is};
use crate::model::key::{self, Key};
use crate::model::meta::bucket::VERSION;
use crate::model::meta::{DocumentMeta, OnDelete};
use crate::model::own_fields::Token;
use crate::plan::images::BeforeImages;
use crate::plan::links::LinkDiff;
use crate::plan::modes::{WritePlan, unlocked};
use crate::plan::operation::Write;
use crate::plan::outcome::Outcome;
use crate::plan::put_back::{OwnReferences, put_back};
use crate::plan::targets::{self, AddedReferences, Column, MissingReferences, missing, roots};
use crate::plan::touches::ArrayEffect;
use crate::rules::exists::AskedTargets;
use crate::rules::library::LibraryUpdate;
use crate::rules::link::other_side::{effects_of, node, values};
use crate::rules::needed;
use crate::rules::rule::{DeferredWork, Effects};
use crate::store::batch::{by_ids, id, stored_id};
use crate::store::cx::{Cx, Statement};
use crate::store::fields::at;
use crate::store::transaction;
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocument, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The written references, so that they can be undone.
#[derive(Debug, Default)]
pub(crate) struct WrittenReferences {
    /// The ids of the documents that were inserted.
    pub(crate) inserted: Vec<(&'static DocumentMeta, Vec<Bson>)>,
    /// The documents that were changed, as they were: those fields that hold references, and the copies beside them.
    pub(crate) changed: Vec<(&'static DocumentMeta, Vec<Arc<RawDocumentBuf>>)>,
}

/// The keys of documents that references name.
type ReferencesByTarget = HashMap<ReferenceTarget, HashSet<Key>>;

/// The targets that are checked again after a write.
#[derive(Debug)]
pub(crate) struct Recheck {
    added: Vec<AddedReferences>,
    undo: WrittenReferences,
}

/// What follows the commit of writes.
#[derive(Default)]
pub(crate) struct AfterWrites {
    rechecks: Vec<Recheck>,
    pub(crate) deferred: DeferredWork,
}

impl AfterWrites {
    pub(crate) fn new(recheck: Option<Recheck>, deferred: DeferredWork) -> AfterWrites {
        AfterWrites {
            rechecks: recheck.into_iter().collect(),
            deferred,
        }
    }

    pub(crate) fn add(&mut self, other: AfterWrites) {
        self.rechecks.extend(other.rechecks);
        self.deferred.add_all(other.deferred);
    }

    /// Checks the references again, and applies the deferred work. Returns the number of changed documents.
    ///
    /// # Errors
    /// [`Error::MissingReference`] for references that were undone; the first failure of the deferred work.
    pub(crate) async fn run(self, cx: &Cx<'_>) -> Result<u64> {
        let (checked, applied) = self.run_all(cx).await;
        checked?;
        applied
    }

    /// The same, with the result of each of both.
    pub(crate) async fn run_all(self, cx: &Cx<'_>) -> (Result<()>, Result<u64>) {
        let checked = if self.rechecks.is_empty() {
            Ok(())
        } else {
            check_again(cx, &self.rechecks).await
        };
        (checked, self.deferred.drain(cx).await)
    }
}

/// Checks after the writes; where a target has been deleted, the write that refers to it is undone.
///
/// # Errors
/// [`Error::MissingReference`].
async fn check_again(cx: &Cx<'_>, rechecks: &[Recheck]) -> Result<()> {
    let graph = cx.odm.graph();
    let mut undone = None;
    let mut failed = Ok(());
    let mut open: Vec<&Recheck> = rechecks.iter().collect();
    while !open.is_empty() {
        let mut asked = AskedTargets::default();
        let added: Vec<AddedReferences> = open.iter().flat_map(|recheck| &recheck.added).cloned().collect();
        for one in &added {
            let by = one.edge(graph).by();
            for (key, _) in one.asked() {
                asked.add(one.target.meta, by, key);
            }
        }
        let there = match asked.ask_same(cx, graph, &added).await {
            Ok(there) => there,
            Err(error) => {
                failed = failed.and(Err(error));
                break;
            }
        };
        let is_there = |column: Column, key: &Key| there.get(&column).is_some_and(|keys| keys.contains(key));
        let before = open.len();
        let mut kept = Vec::new();
        for recheck in open {
            let missing = missing(graph, &recheck.added, is_there).next();
            match missing {
                None => kept.push(recheck),
                Some(missing) => {
                    let error = missing.error(graph);
                    match recheck.take_back(cx, graph, &is_there).await {
                        Ok(()) => {
                            undone.get_or_insert(error);
                        }
                        Err(error) => failed = failed.and(Err(error)),
                    }
                }
            }
        }
        // An undone insert may be the target of another one.
        open = if kept.len() == before { Vec::new() } else { kept };
    }
    // Of a committed transaction the application has to learn that a part was undone.
    match (undone, failed) {
        (None, failed) => failed,
        (Some(undone), failed) => {
            if let Err(error) = failed {
                tracing::warn!(
                    target: "odm",
                    %error,
                    "checking for more references to deleted documents, or undoing them, failed; `audit()` finds those that dangle"
                );
            }
            Err(undone)
        }
    }
}

/// Maximum number of times that references are undone in documents which others change meanwhile.
const RESTORES: usize = 10;

/// Maximum number of statements whose documents one query reads.
const ASKED: usize = 200;

impl Recheck {
    /// The second check of writes that were made, with what is needed to undo them: the documents before them, and the missing targets that
    /// these named already. `None` where nothing has to be asked: a reference
    /// that is kept when its target is deleted may as well be written just before.
    pub(in crate::engine) async fn after_writes(
        cx: &Cx<'_>,
        plan: &WritePlan,
        writes: &[Write],
        before: &(BeforeImages, Vec<MissingReferences>),
        outcome: &Outcome,
    ) -> Result<Option<Recheck>> {
        let graph = cx.odm.graph();
        let (before, lacking) = before;
        let is_made = |write: &&Write| !write.is_insert() || outcome.is_made(write.at);
        let mut added = if writes.iter().all(|write| is_made(&write)) {
            plan.targets.clone()
        } else {
            targets::added_references(graph, writes.iter().filter(is_made))?
        };
        let mut inserted: Vec<(&'static DocumentMeta, Vec<Bson>)> = Vec::new();
        let mut insert = |meta: &'static DocumentMeta, id: Bson| match inserted
            .iter_mut()
            .find(|(other, _)| other.collection == meta.collection)
        {
            Some((_, ids)) => ids.push(id),
            None => inserted.push((meta, vec![id])),
        };
        for write in writes.iter().filter(|write| outcome.is_made(write.at)) {
            if let Some(document) = write.inserted() {
                insert(write.meta, stored_id(write.meta, document)?);
            }
        }
        if let (Some(id), Some(write)) = (outcome.upserted.as_ref(), writes.first()) {
            insert(write.meta, id.clone());
            if write.is_update_of_many() {
                // The condition brings references too.
                let names = roots(graph.outgoing(write.meta));
                let key = Key::of_bson(id);
                for document in by_ids(cx, write.meta, [&key].into_iter(), names).await? {
                    added = targets::references_in(graph, write.meta, &document)?;
                }
            }
        }
        targets::exclude(&mut added, lacking);
        let mut added = unlocked(graph, added, cx.session.is_some());
        added.retain(|one| {
            let on_delete = one.edge(graph).reference.on_delete;
            // A document that is moved is missing too.
            one.asked().next().is_some() && (on_delete != OnDelete::Keep || !one.same.is_empty())
        });
        let changed = before
            .with_references()
            .map(|of| (of.meta, of.read().cloned().collect()));
        let undo = WrittenReferences {
            inserted,
            changed: changed.collect(),
        };
        Ok((!added.is_empty()).then_some(Recheck { added, undo }))
    }
}

impl Recheck {
    /// Whether the write has added this reference.
    fn adds(&self, target: ReferenceTarget, key: &Key) -> bool {
        self.added
            .iter()
            .any(|one| one.target == target && one.keys.iter().any(|(added, _)| added == key))
    }

    /// The effect of the write on the references of this edge.
    fn how(&self, edge: EdgeId) -> ArrayEffect {
        let of_edge = self.added.iter().filter(|one| one.target.edge == edge);
        of_edge.map(|one| one.how).max().unwrap_or(ArrayEffect::Adds)
    }

    async fn take_back(
        &self,
        cx: &Cx<'_>,
        graph: &Graph,
        is_there: &(impl Fn(Column, &Key) -> bool + Sync),
    ) -> Result<()> {
        // One that can't be taken back does not keep the others.
        let mut failed = Ok(());
        let mut changed: Vec<(&'static DocumentMeta, Cow<'_, [Arc<RawDocumentBuf>]>)> = Vec::new();
        let mut effects = Effects::deferred(Token::new());
        for (meta, ids) in &self.undo.inserted {
            let named = match names_of(cx, graph, meta, ids).await {
                Ok(named) => named,
                Err(error) => {
                    failed = failed.and(Err(error));
                    ReferencesByTarget::new()
                }
            };
            let removed = match meta.bucket {
                Some(bucket) if !self.lacks(graph, bucket.parent, is_there) => {
                    let left = self.remove_untouched(cx, graph, (meta, bucket.items), ids).await;
                    left.map(|left| {
                        let left: Vec<_> = left.into_iter().map(Arc::new).collect();
                        changed.push((meta, left.into()));
                    })
                }
                _ => remove(cx, meta, ids).await,
            };
            failed = failed.and(removed);
            failed = failed.and(empty_gone(cx, graph, named, None, &mut effects).await);
        }
        let known = self.undo.changed.iter();
        changed.extend(known.map(|(meta, documents)| (*meta, documents.as_slice().into())));
        for (meta, documents) in &changed {
            let documents = (*meta, documents.as_ref());
            let mut lost = ReferencesByTarget::new();
            let restored = self.restore(cx, graph, is_there, documents, (&mut effects, &mut lost));
            failed = failed.and(restored.await);
            let ids = documents
                .1
                .iter()
                .map(|document| crate::store::batch::document_id(document))
                .collect();
            failed = failed.and(empty_gone(cx, graph, lost, Some(ids), &mut effects).await);
        }
        // After the last one: a failure of pending work must neither keep a reference from being undone, nor hide the missing
        // targets from the caller.
        drain::log_undrained(effects.deferred.drain(cx).await);
        failed
    }

    /// The references that this write has added, and that dangle now and did not before.
    fn dangling<'e>(
        &self,
        edges: &[&'e Edge],
        before: &RawDocument,
        now: &RawDocument,
        is_there: impl Fn(Column, &Key) -> bool,
    ) -> Vec<&'e Edge> {
        let dangles = |edge: &Edge, target: ReferenceTarget| {
            let before: HashSet<Key> = edge.keys(target, before).into_iter().collect();
            let column = (target.meta.collection, edge.by());
            edge.keys(target, now)
                .iter()
                .any(|key| self.adds(target, key) && !before.contains(key) && !is_there(column, key))
        };
        let edges = edges.iter().copied();
        edges
            .filter(|edge| edge.targets.iter().any(|target| dangles(edge, *target)))
            .collect()
    }

    /// Whether a target is missing that the write has named in this field.
    fn lacks(&self, graph: &Graph, field: &str, is_there: &impl Fn(Column, &Key) -> bool) -> bool {
        self.added.iter().any(|one| {
            let column = one.column(graph);
            let mut keys = one.keys.iter();
            one.edge(graph).path == field && keys.any(|(key, _)| !is_there(column, key))
        })
    }

    /// Removes new buckets in which an item refers to a missing target, if no other client has written to them. The others are
    /// returned as they would be without the items that they were created with.
    async fn remove_untouched(
        &self,
        cx: &Cx<'_>,
        graph: &Graph,
        (meta, items): (&'static DocumentMeta, &str),
        ids: &[Bson],
    ) -> Result<Vec<RawDocumentBuf>> {
        // Fields that others derive from a bucket have to be updated before it is deleted, and an item that is pushed meanwhile
        // would be lost.
        if graph.derived_from(meta).next().is_none() && !graph.is_child_of_others(meta) {
            cx.delete(meta, doc! { "_id": { "$in": ids }, VERSION: 1_i64 })
                .await?;
        }
        let left = cx.there(meta, ids).await?;
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
        cx: &Cx<'_>,
        graph: &Graph,
        is_there: &(impl Fn(Column, &Key) -> bool + Sync),
        (meta, documents): (&'static DocumentMeta, &[Arc<RawDocumentBuf>]),
        (effects, lost): (&mut Effects, &mut ReferencesByTarget),
    ) -> Result<()> {
        let edges: Vec<&Edge> = self
            .added
            .iter()
            .map(|one| one.edge(graph))
            .filter(|edge| is(edge.holder, meta))
            .collect();
        let names = roots(edges.iter().copied());
        let keys: Vec<Key> = documents.iter().map(|document| id(&**document)).collect();
        // Where others change a document meanwhile it is looked at again: what it was given may be there still.
        for _ in 0..RESTORES {
            let now: HashMap<Key, RawDocumentBuf> = by_ids(cx, meta, keys.iter(), names.iter().copied())
                .await?
                .into_iter()
                .map(|document| (id(&document), document))
                .collect();
            let mut followed: Vec<String> = Vec::new();
            let statements: Vec<Statement> = documents
                .iter()
                .filter_map(|before| {
                    let now = now.get(&id(&**before))?;
                    let dangling = self.dangling(&edges, before, now, is_there);
                    let own = OwnReferences {
                        added: &|target, key| self.adds(target, key),
                        removed: &|target, key| {
                            self.how(target.edge) != ArrayEffect::Adds && !self.adds(target, key)
                        },
                        how: &|edge| self.how(edge.id),
                    };
                    add_lost(&dangling, before, now, lost);
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
            let given_back = if followed.is_empty() || !cx.odm.has_transactions().await? {
                cx.update(meta, &statements).await?
            } else {
                let (statements, followed) = (&statements, &followed);
                let token = effects.later();
                let (given_back, left) = transaction::take_turns(*cx, Vec::new(), async |session| {
                    let cx = cx.within(&session);
                    let mut effects = Effects::in_transaction(token);
                    let ids = matched(&cx, meta, statements).await?;
                    let given_back = cx.update(meta, statements).await?;
                    effects.pass_on(graph, meta, ("_id", ids), followed.clone());
                    let (_, left) = effects.apply(&cx).await?;
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

/// The ids of the documents that these statements change. Other documents of the operation may be changed by other clients, which do what
/// follows from that.
async fn matched(cx: &Cx<'_>, meta: &'static DocumentMeta, statements: &[Statement]) -> Result<Vec<Bson>> {
    let mut ids = Vec::new();
    for some in statements.chunks(ASKED) {
        let filters = some.iter().map(|one| cx.routed(meta, one.filter.clone()));
        let any = doc! { "$or": filters.collect::<Vec<_>>() };
        let found = cx.every(meta, any, doc! { "_id": 1 }).await?;
        ids.extend(found.iter().map(crate::store::batch::document_id));
    }
    Ok(ids)
}

/// Adds the keys that these references had before and don't have now.
fn add_lost(edges: &[&Edge], before: &RawDocument, now: &RawDocument, lost: &mut ReferencesByTarget) {
    for edge in edges {
        for target in edge.targets.iter().copied() {
            let now: HashSet<Key> = edge.keys(target, now).into_iter().collect();
            let before = edge.keys(target, before).into_iter();
            let gone = before.filter(|key| !now.contains(key));
            lost.entry(target).or_default().extend(gone);
        }
    }
}

/// By which references these documents are named, where a deletion takes those out of the documents that hold them.
async fn names_of(
    cx: &Cx<'_>,
    graph: &Graph,
    meta: &'static DocumentMeta,
    ids: &[Bson],
) -> Result<ReferencesByTarget> {
    let mut named = ReferencesByTarget::new();
    for edge in graph.incoming(meta).filter(|edge| is_taken_out(edge)) {
        let Some(target) = edge.target(meta) else { continue };
        let keys = match edge.by() {
            "_id" => ids.iter().map(Key::of_bson).collect(),
            by => {
                let ids: Vec<Key> = ids.iter().map(Key::of_bson).collect();
                let documents = by_ids(cx, meta, ids.iter(), [by]).await?;
                let keys = documents.iter().filter_map(|document| at(document, by));
                keys.map(Key::of).collect()
            }
        };
        named.insert(target, keys);
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
    cx: &Cx<'_>,
    graph: &Graph,
    named: ReferencesByTarget,
    within: Option<Vec<Bson>>,
    effects: &mut Effects,
) -> Result<()> {
    let named: Vec<(&Edge, ReferenceTarget, HashSet<Key>)> = named
        .into_iter()
        .map(|(target, keys)| (&graph[target.edge], target, keys))
        .filter(|(edge, _, keys)| is_taken_out(edge) && !keys.is_empty())
        .collect();
    let mut asked = AskedTargets::default();
    for (edge, target, keys) in &named {
        keys.iter().for_each(|key| asked.add(target.meta, edge.by(), key));
    }
    let there = asked.ask(cx).await?;
    for (edge, target, keys) in named {
        let there = there.get(&(target.meta.collection, edge.by()));
        let gone = keys
            .iter()
            .filter(|key| there.is_none_or(|there| !there.contains(key)));
        let gone: Vec<Bson> = gone.map(Key::to_bson).collect();
        if gone.is_empty() {
            continue;
        }
        let mut change = edge.detachment(target, &gone);
        effects.complete(graph, LibraryUpdate::detachment(edge), &mut change.update);
        let within = within.as_ref().map(|ids| doc! { "_id": { "$in": ids } });
        let refers = edge.holders_of(target, gone);
        let filter = crate::store::filter::all(within.into_iter().chain([refers]));
        cx.change(edge.holder, filter, change).await?;
    }
    Ok(())
}

/// Takes back inserts: deletes documents that were inserted a moment ago, and what links others with them.
fn remove<'s>(cx: &'s Cx<'_>, meta: &'static DocumentMeta, ids: &'s [Bson]) -> BoxFuture<'s, Result<()>> {
    async move {
        let graph = cx.odm.graph();
        let mut derived = graph.derived_from(meta);
        let is_followed =
            graph.is_claimed(meta) || derived.any(|derived| is_atomic(derived.consistency, true));
        let left = if (graph.is_linked(meta) || is_followed) && cx.odm.has_transactions().await? {
            transaction::take_turns(*cx, Vec::new(), |session| async move {
                unlink(&cx.within(&session), meta, ids, is_followed).await
            })
            .await?
        } else {
            unlink(cx, meta, ids, false).await?
        };
        left.drain(cx).await.map(drop)
    }
    .boxed()
}

/// Returns what is to be done after the commit. `is_followed` says that this is a transaction which updates what is derived of the
/// documents, and frees what they claim.
async fn unlink(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    ids: &[Bson],
    is_followed: bool,
) -> Result<DeferredWork> {
    let graph = cx.odm.graph();
    let links = || {
        let edges = graph.outgoing(meta);
        edges.filter_map(|edge| Some((edge.two_way()?, edge)))
    };
    let mut effects = Effects::new(cx);
    let keys: Vec<Key> = ids.iter().map(Key::of_bson).collect();
    if graph.is_linked(meta) {
        let mut diff = LinkDiff::default();
        for document in by_ids(cx, meta, keys.iter(), roots(links().map(|(_, edge)| edge))).await? {
            let holder = node(meta, &document)?;
            for (two_way, edge) in links() {
                diff.add((two_way, edge), &holder, &values(edge, &document)?, &[])?;
            }
        }
        let links = effects_of(cx, graph, &diff).await?;
        effects.pass_on_writes(cx, None, &links).await?;
    }
    if is_followed {
        for ids in key::chunks(&keys) {
            let which = doc! { "_id": { "$in": ids } };
            let documents = cx.every(meta, which.clone(), needed(graph, meta)).await?;
            cx.delete(meta, which).await?;
            let documents: Vec<&RawDocumentBuf> = documents.iter().collect();
            effects.deleted(cx, meta, &documents).await?;
        }
        let (_, left) = effects.apply(cx).await?;
        return Ok(left);
    }
    let (_, mut left) = effects.apply(cx).await?;
    // Fields that are derived from them are derived without them before they are deleted.
    let derives = graph.derived_from(meta).next().is_some() || graph.is_child_of_others(meta);
    let token = Token::new();
    for ids in key::chunks(&keys) {
        let which = doc! { "_id": { "$in": ids } };
        if derives {
            drain::mark_gone(cx, meta, which, token).await?
        } else {
            cx.delete(meta, which).await?
        };
    }
    if derives {
        left.add(meta, token);
    }
    Ok(left)
}
