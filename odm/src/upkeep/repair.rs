//! Repairs faults in references and copies that have one right answer.
//!
//! Every write matches the value that was read, so it does nothing where another writer was faster, be it another repair. A
//! repaired link is read again on both sides: one half of a concurrent write may have been undone, and then the link is
//! repaired again.

use crate::engine::restore::restore;
use crate::graph::Graph;
use crate::graph::edge::{Edge, EdgeId, ReferenceTarget};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::Token;
use crate::model::reference::OnDelete;
use crate::rules::derived::{DerivedValue, ValueKind};
use crate::rules::library::LibraryUpdate;
use crate::rules::rule::Effects;
use crate::store::batch::{UpdateSpec, document_id, value};
use crate::store::core::Core;
use crate::store::cx::{Cx, Statement};
use crate::store::each::{WriteReport, but_for_the_deployment};
use crate::store::filter::all;
use crate::store::trace::Trace;
use crate::upkeep::audit::{Audit, AuditedCopies, ChosenReferences, FieldOf, InspectedDocuments, look};
use crate::upkeep::copies;
use crate::upkeep::inspect::{Fault, FaultKind, confirm, look_at};
use crate::{Document, Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document as Fields, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::IntoFuture;
#[cfg(feature = "cli")]
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of attempts to repair a link that other writers change meanwhile.
const ROUNDS: usize = 4;

/// Maximum number of passes over all documents: a repair of one document may make room for a link of an earlier one, and restore the target
/// of another.
const PASSES: usize = 3;

impl Odm {
    /// Repairs the findings of an [`audit`](Odm::audit) that have one right answer, and lists the rest. All references and
    /// copies with findings are inspected again, since other clients may have written meanwhile:
    ///
    /// | finding | repair |
    /// | --- | --- |
    /// | a dangling reference | removed with `on_delete = nullify` or `pull`; left with `restrict` and with `cascade`: a repair does not delete the document that holds it |
    /// | a two-way reference on one side only | one side is authoritative: for one-to-many the single reference, else the side whose collection and field come first by name (for a field that is its own other side, the document with the lesser id). The reference on the other side is added or removed to match it |
    /// | … where the two-way reference is new and a [`backfill`](Odm::backfill) has not written the authoritative side yet | left, unless that side has it |
    /// | … where the other side is full, or is linked to another document that also refers to it, or must keep a reference | left |
    /// | a document that a two-way array lists twice | listed once, at its first position |
    /// | copies, subsets and computed fields that differ from their source | updated |
    /// | buckets whose count, times, sums or room differ from their items | computed again by the server; room may shrink but never grows |
    /// | an array over its bound, a parent with several children of which it may have one | left |
    /// | documents that an interrupted deletion or restoration has left deleted, below one that is not deleted | restored, unless [`restore`](crate::Collection::restore) of the latter is refused |
    /// | a document that is not deleted, below a deleted one | left: restore the deleted one, or delete the other |
    /// | a claim of a key with `unique(global)` whose owner is gone, is deleted, or has another value | removed |
    /// | a value of such a key that no document has claimed | claimed by its document |
    /// | … that another document has too, and has claimed | left |
    ///
    /// Every write matches the value that was read, so other clients may write meanwhile, and several repairs may run at once.
    /// Versions and timestamps of the documents stay as they are, except for the versions of changed buckets and of documents
    /// whose two-way references change. A repair is not a transaction: if it is interrupted, a part is repaired.
    ///
    /// # Errors
    /// [`Error::Query`] where [`edge`](Repairing::edge) or [`collection`](Repairing::collection) names no reference.
    /// Copies in a document that can't be written do not stop the repair of others: the first error is returned when everything
    /// else is repaired. So is [`Error::UnknownCopies`] for documents with copies that these models lack: a program that has
    /// all models repairs those.
    ///
    /// # Cost
    /// That of an [`audit`](Odm::audit); one for the declarations in the database; for every 1,000 documents with something to
    /// repair, a few more for each reference and kind of finding. Where links are left after other repairs, which may have made
    /// room for them, all of it a second and a third time.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let audit = odm.audit().await?;
    /// let repaired = odm.repair(&audit).await?;
    /// println!("{repaired}");
    /// if !repaired.left.is_clean() {
    ///     println!("somebody has to decide about the rest");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn repair(&self, audit: &Audit) -> Repairing {
        Repairing {
            chosen: ChosenReferences::found(&self.unscoped(), audit),
        }
    }

    /// Repairs what is wrong anywhere, as [`repair`](Odm::repair), without an audit before it.
    ///
    /// # Cost
    /// As of [`repair`](Odm::repair).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let repaired = odm.repair_all().await?;
    /// # Ok(()) }
    /// ```
    pub fn repair_all(&self) -> Repairing {
        Repairing {
            chosen: ChosenReferences::new(&self.unscoped()),
        }
    }
}

/// A repair, executed by `.await`: [`Odm::repair`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let repaired = odm.repair_all().collection::<Account>().await?;
/// # Ok(()) }
/// ```
#[must_use = "a repair does nothing until it is awaited"]
#[derive(Clone, Debug)]
pub struct Repairing {
    chosen: ChosenReferences,
}

impl Repairing {
    /// Repairs the references that documents of type `T` hold. Call it several times for several types.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let repaired = odm.repair_all().collection::<Account>().await?;
    /// # Ok(()) }
    /// ```
    pub fn collection<T: Document>(mut self) -> Repairing {
        self.chosen.collection::<T>();
        self
    }

    /// Repairs this reference. Call it several times for several references.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let repaired = odm.repair_all().edge::<Account, _>(|a| a.owner).await?;
    /// # Ok(()) }
    /// ```
    pub fn edge<T: Document, F: FieldOf<T>>(mut self, field: impl FnOnce(T::Paths) -> F) -> Repairing {
        self.chosen.edge::<T, F>(field);
        self
    }
}

#[cfg(feature = "cli")]
impl Repairing {
    /// Repairs only these references and copies.
    pub(crate) fn only(mut self, which: Vec<(&'static str, Option<String>)>) -> Repairing {
        self.chosen.which = which;
        self
    }

    /// How many documents were read so far.
    pub(crate) fn read(&self) -> Arc<AtomicU64> {
        self.chosen.read.clone()
    }
}

/// The result of [`Odm::repair`]. Displayed as text.
///
/// ```no_run
/// # fn example(repaired: odm::upkeep::Repaired) {
/// let repairs: u64 = repaired.repairs.iter().map(|one| one.count).sum();
/// println!("{repairs} repairs, {}", repaired.left);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Repaired {
    /// The repairs, by reference.
    pub repairs: Vec<Repair>,
    /// The total number of repairs.
    pub repaired: u64,
    /// The findings that are left, since they have no single right answer.
    pub left: Audit,
}

/// The repairs of one kind to one reference.
///
/// ```no_run
/// # fn example(repair: odm::upkeep::Repair) {
/// println!("{}.{}: {:?} {}", repair.collection, repair.field, repair.what, repair.count);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Repair {
    /// The collection of the documents that were changed.
    pub collection: &'static str,
    /// The stored path of the reference.
    pub field: String,
    /// The kind of repair.
    pub what: RepairKind,
    /// The number of these repairs.
    pub count: u64,
}

/// A kind of repair.
///
/// ```
/// assert_ne!(odm::upkeep::RepairKind::Linked, odm::upkeep::RepairKind::Unlinked);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RepairKind {
    /// A dangling reference was removed.
    Nullified,
    /// Dangling references were removed from a document's arrays.
    Pulled,
    /// A two-way reference was added on the side that lacked it.
    Linked,
    /// A two-way reference was removed, since the other side, which is authoritative, does not have it.
    Unlinked,
    /// Duplicate references were removed from an array.
    Deduplicated,
    /// Copies or derived fields were updated; the count is in documents.
    Copied,
    /// The summaries of buckets were computed again; the count is in buckets.
    Summed,
    /// Documents that an interrupted deletion or restoration had left deleted were restored.
    Restored,
    /// Documents have claimed their values of a key with `unique(global)`; the count is in documents.
    Claimed,
    /// Claims of such values were removed, since their owners have other values or are gone; the count is in claims.
    Freed,
}

impl IntoFuture for Repairing {
    type Output = Result<Repaired>;
    type IntoFuture = BoxFuture<'static, Result<Repaired>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let chosen = self.chosen;
            let trace = Trace::new("(all)", "repair");
            let repaired = trace.run(async {
                let cx = Cx::new(&chosen.odm, None, &trace);
                let edges = chosen.edges()?;
                let mut repaired = Repaired::default();
                let mut chosen_edges = edges.iter().flat_map(|(_, edges)| edges);
                if chosen_edges.any(|edge| edge.is_two_way()) || chosen.values().next().is_some() {
                    cx.trip();
                    chosen.odm.learn().await?;
                }
                let mut failed = Ok(());
                for _ in 0..PASSES {
                    let before: u64 = repaired.repairs.iter().map(|repair| repair.count).sum();
                    failed = failed.and(repaired.pass(&cx, &edges, &chosen.read).await?);
                    let after: u64 = repaired.repairs.iter().map(|repair| repair.count).sum();
                    // Of links, and of documents whose targets were deleted when they were read, some may be right by now.
                    let left = repaired.left.references.iter();
                    let left = left.map(|left| left.one_sided.count + left.below_deleted.count);
                    if after == before || left.sum::<u64>() == 0 {
                        break;
                    }
                }
                for value in chosen.values() {
                    if let Err(error) = chosen.odm.knows_copies(value.holder()) {
                        failed = failed.and(Err(error));
                        continue;
                    }
                    failed = failed.and(repaired.copies(&cx, value.as_ref(), &chosen.read).await?);
                }
                repaired
                    .left
                    .find_duplicate_ids(&cx, chosen.collections())
                    .await?;
                repaired.repaired = repaired.repairs.iter().map(|repair| repair.count).sum();
                trace.documents(repaired.left.documents);
                failed.map(|()| repaired)
            });
            repaired.await
        }
        .boxed()
    }
}

impl Repaired {
    /// Updates copies that differ from their source, and claims. Returns the first refusal, when everything else is done.
    async fn copies(
        &mut self,
        cx: &Cx<'_>,
        value: &dyn DerivedValue,
        read: &AtomicU64,
    ) -> Result<Result<()>> {
        let mut source = InspectedDocuments::with(cx, value.holder(), value.projection(), None).await?;
        let mut written = WriteReport::default();
        let mut left = AuditedCopies::of(value);
        while let Some(documents) = source.next(cx).await? {
            let corrected = copies::correct(value, cx, &documents).await;
            let corrected = corrected.map(|corrected| {
                left.add(value, corrected.checked, corrected.left);
                corrected.written
            });
            written.add(corrected)?;
            read.fetch_add(documents.len() as u64, Ordering::Relaxed);
        }
        if written.documents > 0 {
            self.repairs.push(Repair {
                collection: value.holder().collection,
                field: value.fields().join(", "),
                what: match value.kind() {
                    ValueKind::Derived => RepairKind::Copied,
                    ValueKind::Summary => RepairKind::Summed,
                    ValueKind::Claims => RepairKind::Claimed,
                    ValueKind::Owners => RepairKind::Freed,
                },
                count: written.documents,
            });
        }
        left.wrong = left.stale.count;
        if left.wrong > 0 {
            self.left.copies.push(left);
        }
        Ok(written.all().map(drop))
    }

    /// One pass over all documents. Returns the first failure of pending work for derived fields in other documents.
    async fn pass<'g>(
        &mut self,
        cx: &Cx<'g>,
        chosen: &[(&'static DocumentMeta, Vec<&'g Edge>)],
        read: &AtomicU64,
    ) -> Result<Result<()>> {
        self.left = Audit::of(chosen);
        let mut failed = Ok(());
        for (meta, edges) in chosen {
            let mut source = InspectedDocuments::of(cx, meta, edges, None).await?;
            while let Some(documents) = source.next(cx).await? {
                let mut inspected = look(cx, edges, &documents).await?;
                read.fetch_add(documents.len() as u64, Ordering::Relaxed);
                let faults = std::mem::take(&mut inspected.faults);
                let faults = self.end_interrupted(cx, faults).await?;
                self.left.count(documents.len(), edges, &inspected);
                match but_for_the_deployment(self.repair(cx, faults).await)? {
                    Ok(left) => left.iter().for_each(|fault| self.left.found(fault)),
                    Err(error) => failed = failed.and(Err(error)),
                }
            }
            self.left.several_children(cx, edges).await?;
        }
        Ok(failed)
    }

    /// Restores what interrupted deletions and restorations have left deleted below documents that are not deleted. Returns the other
    /// faults, and those whose restoration is refused.
    async fn end_interrupted<'g>(&mut self, cx: &Cx<'g>, faults: Vec<Fault<'g>>) -> Result<Vec<Fault<'g>>> {
        let (interrupted, mut left): (Vec<_>, Vec<_>) = faults
            .into_iter()
            .partition(|fault| matches!(fault.kind, FaultKind::Interrupted { .. }));
        let mut by_top: HashMap<(EdgeId, &'static str, Key), Vec<Fault<'g>>> = HashMap::new();
        for fault in interrupted {
            if let FaultKind::Interrupted { top, id } = &fault.kind {
                let key = (fault.edge.id, top.collection, Key::of_bson(id));
                by_top.entry(key).or_default().push(fault);
            }
        }
        for faults in by_top.into_values() {
            let Some(Fault {
                edge,
                kind: FaultKind::Interrupted { top, id },
                ..
            }) = faults.first()
            else {
                continue;
            };
            let edge = *edge;
            let core = Core::new(cx.odm, top, None);
            let trace = Trace::new(top.collection, "restore");
            let made = match restore(&core, &trace, id.clone()).await {
                Err(error @ Error::Contention { .. }) => Err(error),
                made => but_for_the_deployment(made)?,
            };
            let restored = match made {
                Ok((_, others)) => others,
                Err(error) => {
                    tracing::debug!(
                        target: "odm",
                        collection = top.collection,
                        %id,
                        %error,
                        "the rest of an interrupted deletion or restoration could not be restored"
                    );
                    0
                }
            };
            if restored == 0 {
                left.extend(confirm(cx, cx.odm.graph(), faults).await?);
            }
            self.count(edge, RepairKind::Restored, restored);
        }
        Ok(left)
    }

    fn count(&mut self, edge: &Edge, what: RepairKind, count: u64) {
        if count == 0 {
            return;
        }
        let known = self.repairs.iter_mut().find(|known| {
            known.collection == edge.holder.collection && known.field == edge.path && known.what == what
        });
        match known {
            Some(known) => known.count += count,
            None => self.repairs.push(Repair {
                collection: edge.holder.collection,
                field: edge.path.clone(),
                what,
                count,
            }),
        }
    }

    /// Repairs the findings that have one right answer. Returns the rest.
    pub(crate) async fn repair<'g>(&mut self, cx: &Cx<'g>, faults: Vec<Fault<'g>>) -> Result<Vec<Fault<'g>>> {
        self.repair_as(cx, faults, Belief::Side).await
    }

    /// The same with another belief.
    pub(crate) async fn repair_as<'g>(
        &mut self,
        cx: &Cx<'g>,
        faults: Vec<Fault<'g>>,
        belief: Belief<'_>,
    ) -> Result<Vec<Fault<'g>>> {
        let mut left = Vec::new();
        let mut links = Vec::new();
        let mut detached: HashMap<ReferenceTarget, Vec<Fault<'g>>> = HashMap::new();
        let mut repeated: HashMap<EdgeId, Vec<Fault<'g>>> = HashMap::new();
        let mut known = HashSet::new();
        for fault in faults {
            match &fault.kind {
                // Within one collection both documents of a link may have led to it. Counted twice, it would be two claims.
                FaultKind::OneSided { other }
                    if !known.insert((fault.edge.id, Key::of_bson(&fault.holder), Key::of_bson(other))) => {}
                FaultKind::Dangling {
                    target: Some(target), ..
                } if detaches(&fault) => {
                    if fault.edge.is_two_way() {
                        links.push(fault);
                        continue;
                    }
                    detached.entry(*target).or_default().push(fault);
                }
                FaultKind::OneSided { .. } => links.push(fault),
                FaultKind::Repeated { .. } => repeated.entry(fault.edge.id).or_default().push(fault),
                _ => left.push(fault),
            }
        }
        let mut write = Writing {
            effects: Effects::deferred(Token::new()),
            belief,
        };
        let not_repaired = self
            .repair_sorted(cx, (detached, repeated, links), &mut write)
            .await;
        let drained = std::mem::take(&mut write.effects.deferred).drain(cx).await;
        left.extend(not_repaired?);
        drained?;
        Ok(left)
    }

    async fn repair_sorted<'g>(
        &mut self,
        cx: &Cx<'g>,
        (detached, repeated, links): Sorted<'g>,
        write: &mut Writing<'_>,
    ) -> Result<Vec<Fault<'g>>> {
        let mut left = Vec::new();
        for (target, faults) in detached {
            left.extend(self.detach(cx, target, faults, write).await?);
        }
        for faults in repeated.into_values() {
            left.extend(self.name_once(cx, faults, write).await?);
        }
        left.extend(self.link(cx, links, write).await?);
        Ok(left)
    }

    /// Takes out references of one edge to documents that do not exist.
    async fn detach<'g>(
        &mut self,
        cx: &Cx<'g>,
        target: ReferenceTarget,
        faults: Vec<Fault<'g>>,
        write: &mut Writing<'_>,
    ) -> Result<Vec<Fault<'g>>> {
        let Some(edge) = faults.first().map(|fault| fault.edge) else {
            return Ok(faults);
        };
        let holders: Vec<&Bson> = faults.iter().map(|fault| &fault.holder).collect();
        let mut known = HashSet::new();
        let keys: Vec<Bson> = faults
            .iter()
            .filter_map(|fault| match &fault.kind {
                FaultKind::Dangling { key, .. } => Some(key.clone()),
                _ => None,
            })
            .filter(|key| known.insert(Key::of_bson(key)))
            .collect();
        let parents: Vec<Key> = known.into_iter().collect();
        let mut change = edge.detachment(target, &keys);
        // One that may come again may have come again, and counts what it loses here.
        let graph = cx.odm.graph();
        if graph.may_have_children(target.meta) {
            write.leave(cx, edge, parents).await?;
        }
        let detachment = LibraryUpdate::repaired_detachment(edge);
        write.effects.complete(graph, detachment, &mut change.update);
        let filter = all([doc! { "_id": { "$in": holders } }, edge.holders_of(target, keys)]);
        let what = if edge.pulls() {
            RepairKind::Pulled
        } else {
            RepairKind::Nullified
        };
        match cx.change(edge.holder, filter, change).await {
            Ok(changed) => {
                self.count(edge, what, changed);
                Ok(Vec::new())
            }
            Err(error) => refused(cx, error, faults).await,
        }
    }

    /// Lets arrays of one edge name each document once.
    async fn name_once<'g>(
        &mut self,
        cx: &Cx<'g>,
        faults: Vec<Fault<'g>>,
        write: &mut Writing<'_>,
    ) -> Result<Vec<Fault<'g>>> {
        let Some(edge) = faults.first().map(|fault| fault.edge) else {
            return Ok(faults);
        };
        let mut statements = Vec::new();
        for document in read(cx, edge, faults.iter().map(|fault| &fault.holder)).await? {
            let Some(Bson::Array(items)) = value(&document, &edge.path) else {
                continue;
            };
            let mut seen = HashSet::new();
            let once: Vec<Bson> = items
                .iter()
                .filter(|item| seen.insert(Key::of_bson(item)))
                .cloned()
                .collect();
            let mut update = doc! { "$set": { &edge.path: once } };
            let repair = LibraryUpdate::repair(edge);
            write.effects.complete(cx.odm.graph(), repair, &mut update);
            statements.push(Statement {
                filter: doc! { "_id": document_id(&document), &edge.path: { "$eq": items } },
                update,
                array_filters: Vec::new(),
            });
        }
        match cx.update(edge.holder, &statements).await {
            Ok(changed) => {
                self.count(edge, RepairKind::Deduplicated, changed);
                Ok(Vec::new())
            }
            Err(error) => refused(cx, error, faults).await,
        }
    }

    /// Makes both sides of links equal, and removes references to missing documents. Repaired links are read again: the other
    /// document may have been deleted meanwhile, or inserted.
    async fn link<'g>(
        &mut self,
        cx: &Cx<'g>,
        faults: Vec<Fault<'g>>,
        write: &mut Writing<'_>,
    ) -> Result<Vec<Fault<'g>>> {
        let mut left = Vec::new();
        let mut open = faults;
        for _ in 0..ROUNDS {
            if open.is_empty() {
                break;
            }
            let mut by_edge: HashMap<EdgeId, Vec<Fault<'g>>> = HashMap::new();
            for fault in open {
                by_edge.entry(fault.edge.id).or_default().push(fault);
            }
            open = Vec::new();
            let mut changed = 0;
            for faults in by_edge.into_values() {
                let (gone, faults): (Vec<_>, Vec<_>) = faults
                    .into_iter()
                    .partition(|fault| matches!(fault.kind, FaultKind::Dangling { .. }));
                let mut matched = self.match_sides(cx, faults, write).await?;
                left.extend(matched.stuck);
                let target = gone.first().and_then(|fault| fault.edge.targets.first());
                if let Some(target) = target {
                    let refused = self.detach(cx, *target, gone.clone(), write).await?;
                    if refused.is_empty() {
                        changed += gone.len() as u64;
                        matched.written.extend(gone);
                    }
                    left.extend(refused);
                }
                let (again, never): (Vec<_>, Vec<_>) = again(cx, matched.written)
                    .await?
                    .into_iter()
                    .partition(|fault| matches!(fault.kind, FaultKind::OneSided { .. }) || detaches(fault));
                open.extend(again);
                left.extend(never);
                changed += matched.changed;
            }
            // The arrays that are to be changed are full.
            if changed == 0 {
                break;
            }
        }
        left.extend(open);
        Ok(left)
    }

    /// Follows the side that is believed, for links of one edge.
    async fn match_sides<'g>(
        &mut self,
        cx: &Cx<'g>,
        faults: Vec<Fault<'g>>,
        write: &mut Writing<'_>,
    ) -> Result<Matched<'g>> {
        let graph = cx.odm.graph();
        let Some((edge, back)) = faults
            .first()
            .and_then(|fault| Some((fault.edge, graph.inverse(fault.edge)?)))
        else {
            return Ok(Matched {
                written: Vec::new(),
                stuck: faults,
                changed: 0,
            });
        };
        // The side that is believed may not have been written yet.
        let is_open = matches!(write.belief, Belief::Side) && cx.odm.is_unlinked(edge);
        let (mut gains, mut losses, mut stuck) = (Vec::new(), Vec::new(), Vec::new());
        for fault in faults {
            let FaultKind::OneSided { other } = &fault.kind else {
                continue;
            };
            let (holder, other) = (Key::of_bson(&fault.holder), Key::of_bson(other));
            let believed = match write.belief {
                Belief::These(links) => links.contains(&(edge.id, holder, other)),
                Belief::Side | Belief::SideAnyway => edge.is_authority(&holder, &other),
            };
            if believed {
                gains.push(fault);
            } else if !is_open && (edge.list || edge.reference.optional) {
                losses.push(fault);
            } else {
                stuck.push(fault);
            }
        }
        let mut statements: Vec<Statement> = losses.iter().filter_map(loss).collect();
        write
            .leave(cx, edge, losses.iter().filter_map(other_of).collect())
            .await?;
        write.complete(graph, edge, &mut statements);
        let mut changed = 0;
        match cx.update(edge.holder, &statements).await {
            Ok(n) => {
                self.count(edge, RepairKind::Unlinked, n);
                changed += n;
            }
            Err(error) => stuck.extend(refused(cx, error, std::mem::take(&mut losses)).await?),
        }
        let (mut statements, mut gains) = if back.list {
            (
                gains
                    .iter()
                    .flat_map(|fault| gains_of(back, fault, None))
                    .collect(),
                gains,
            )
        } else {
            let singles = single(cx, edge, back, gains, &mut stuck, is_open).await?;
            write.leave(cx, back, singles.previous).await?;
            (singles.statements, singles.written)
        };
        write.complete(graph, back, &mut statements);
        match cx.update(back.holder, &statements).await {
            Ok(n) => {
                self.count(back, RepairKind::Linked, n);
                changed += n;
            }
            Err(error) => stuck.extend(refused(cx, error, std::mem::take(&mut gains)).await?),
        }
        losses.extend(gains);
        Ok(Matched {
            written: losses,
            stuck,
            changed,
        })
    }
}

/// The findings that can be repaired: dangling references, by target; duplicates, by edge; links on one side.
type Sorted<'g> = (
    HashMap<ReferenceTarget, Vec<Fault<'g>>>,
    HashMap<EdgeId, Vec<Fault<'g>>>,
    Vec<Fault<'g>>,
);

/// A link as one side names it: the reference, the document that holds it, and the other one.
pub(crate) type LinkEnds = (EdgeId, Key, Key);

/// The rule by which a link that is there on one side alone is completed or removed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Belief<'b> {
    /// The side that is believed; where a backfill is still to write that, a link is added and none is taken out.
    Side,
    /// The side that is believed in any case.
    SideAnyway,
    /// These links are to be, and no others.
    These(&'b HashSet<LinkEnds>),
}

/// The work that repairs leave to be done after them.
struct Writing<'m> {
    effects: Effects,
    belief: Belief<'m>,
}

impl Writing<'_> {
    /// Completes statements that write this reference.
    fn complete(&mut self, graph: &Graph, edge: &Edge, statements: &mut [Statement]) {
        for statement in statements {
            self.effects
                .complete(graph, LibraryUpdate::repair(edge), &mut statement.update);
        }
    }

    /// Records that these parents lose children.
    async fn leave(&mut self, cx: &Cx<'_>, edge: &Edge, parents: Vec<Key>) -> Result<()> {
        if cx.odm.graph().is_parent_edge(edge) {
            self.effects.deferred.note_parents(cx, edge, parents).await
        } else {
            Ok(())
        }
    }
}

/// The other document of a link.
fn other_of(fault: &Fault<'_>) -> Option<Key> {
    match &fault.kind {
        FaultKind::OneSided { other } => Some(Key::of_bson(other)),
        _ => None,
    }
}

/// The result of matching one side of links to the other.
struct Matched<'g> {
    /// Links whose other side was written, if nothing came in between.
    written: Vec<Fault<'g>>,
    /// Those for which there is no right answer.
    stuck: Vec<Fault<'g>>,
    /// How many documents were changed.
    changed: u64,
}

/// Removes the reference from the document.
fn loss(fault: &Fault<'_>) -> Option<Statement> {
    let FaultKind::OneSided { other } = &fault.kind else {
        return None;
    };
    let edge = fault.edge;
    Some(Statement {
        filter: doc! { "_id": &fault.holder, &edge.path: other },
        update: if edge.list {
            doc! { "$pull": { &edge.path: other } }
        } else {
            edge.cleared()
        },
        array_filters: Vec::new(),
    })
}

/// The target gets the reference back, in the place of another one if it has one.
fn gains_of(back: &Edge, fault: &Fault<'_>, instead_of: Option<Bson>) -> Vec<Statement> {
    let FaultKind::OneSided { other } = &fault.kind else {
        return Vec::new();
    };
    let statement = |(room, change): (Fields, UpdateSpec)| {
        let room = match &instead_of {
            Some(seen) => doc! { &back.path: seen },
            None => room,
        };
        Statement {
            filter: all([doc! { "_id": other }, room]),
            update: change.update,
            array_filters: change.array_filters,
        }
    };
    back.attachments(&fault.holder)
        .into_iter()
        .map(statement)
        .collect()
}

/// Where the other side is a single reference, it may be taken: by a document that refers to it too, then it is not known
/// which is right; or by one that does not, then it is free, unless that is to be written yet (`is_open`).
async fn single<'g>(
    cx: &Cx<'g>,
    edge: &Edge,
    back: &Edge,
    faults: Vec<Fault<'g>>,
    stuck: &mut Vec<Fault<'g>>,
    is_open: bool,
) -> Result<Singles<'g>> {
    let other = |fault: &Fault<'_>| other_of(fault).unwrap_or_else(|| Key::of_bson(&Bson::Null));
    let mut claims: HashMap<Key, u32> = HashMap::new();
    for fault in &faults {
        *claims.entry(other(fault)).or_default() += 1;
    }
    let others: Vec<Bson> = claims.keys().map(Key::to_bson).collect();
    let mut taken: HashMap<Key, Bson> = HashMap::new();
    for document in read(cx, back, &others).await? {
        if let Some(by) = value(&document, &back.path).filter(|by| *by != Bson::Null) {
            taken.insert(Key::of_bson(&document_id(&document)), by);
        }
    }
    let mut firm: HashSet<(Key, Key)> = HashSet::new();
    for document in read(cx, edge, taken.values()).await? {
        let by = Key::of_bson(&document_id(&document));
        firm.extend(edge.all_keys(&document).into_iter().map(|key| (by.clone(), key)));
    }
    let mut singles = Singles::default();
    for fault in faults {
        let other = other(&fault);
        let by = taken.get(&other);
        let is_firm = by.is_some_and(|by| is_open || firm.contains(&(Key::of_bson(by), other.clone())));
        if is_firm || claims.get(&other) != Some(&1) {
            stuck.push(fault);
            continue;
        }
        singles.previous.extend(by.map(Key::of_bson));
        singles.statements.extend(gains_of(back, &fault, by.cloned()));
        singles.written.push(fault);
    }
    Ok(singles)
}

/// Single references that are written on the other side.
#[derive(Default)]
struct Singles<'g> {
    statements: Vec<Statement>,
    written: Vec<Fault<'g>>,
    /// Their previous targets.
    previous: Vec<Key>,
}

/// The documents with these ids, with this reference.
async fn read<'i>(
    cx: &Cx<'_>,
    edge: &Edge,
    ids: impl IntoIterator<Item = &'i Bson>,
) -> Result<Vec<RawDocumentBuf>> {
    let ids: Vec<&Bson> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let fields = crate::graph::sync::fields_of([edge]);
    cx.every(edge.holder, doc! { "_id": { "$in": ids } }, fields)
        .await
}

/// Whether the repair of a dangling reference removes it.
fn detaches(fault: &Fault<'_>) -> bool {
    matches!(fault.edge.reference.on_delete, OnDelete::Nullify | OnDelete::Pull)
}

/// Links that are on one side only after their repair, or refer to missing documents: the other side was full, or another
/// client changed or deleted one of the documents meanwhile.
async fn again<'g>(cx: &Cx<'g>, written: Vec<Fault<'g>>) -> Result<Vec<Fault<'g>>> {
    let graph: &'g Graph = cx.odm.graph();
    let Some((edge, back)) = written
        .first()
        .and_then(|fault| Some((fault.edge, graph.inverse(fault.edge)?)))
    else {
        return Ok(Vec::new());
    };
    let mut pairs: HashSet<(Key, Key)> = HashSet::new();
    let (mut holders, mut others) = (Vec::new(), Vec::new());
    let named = |fault: &Fault<'g>| match &fault.kind {
        FaultKind::OneSided { other: key } | FaultKind::Dangling { key, .. } => Some(key.clone()),
        _ => None,
    };
    for fault in &written {
        if let Some(other) = named(fault) {
            pairs.insert((Key::of_bson(&fault.holder), Key::of_bson(&other)));
            holders.push(fault.holder.clone());
            others.push(other);
        }
    }
    let is_pair = |fault: &Fault<'g>, turned: bool| {
        let Some(other) = named(fault) else { return false };
        let (holder, other) = (Key::of_bson(&fault.holder), Key::of_bson(&other));
        pairs.contains(&if !turned { (holder, other) } else { (other, holder) })
    };
    let side = async |meta: &'static DocumentMeta, edge: &'g Edge, ids: Vec<Bson>| {
        look_at(cx, graph, meta, &[edge], ids).await
    };
    let here = side(edge.holder, edge, holders).await?;
    let there = side(back.holder, back, others).await?;
    let here = here.faults.into_iter().filter(|fault| is_pair(fault, false));
    let there = there.faults.into_iter().filter(|fault| is_pair(fault, true));
    Ok(here.chain(there).collect())
}

/// A document that breaks another rule of its schema can't be written at all: its faults are left. Any other error ends the
/// repair.
async fn refused<'g>(cx: &Cx<'g>, error: Error, faults: Vec<Fault<'g>>) -> Result<Vec<Fault<'g>>> {
    match error {
        Error::Invalid { .. } | Error::DuplicateKey { .. } => confirm(cx, cx.odm.graph(), faults).await,
        error => Err(error),
    }
}

impl RepairKind {
    /// One of them, and several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            RepairKind::Nullified => ("dangling reference removed", "dangling references removed"),
            RepairKind::Pulled => (
                "document with dangling references removed from an array",
                "documents with dangling references removed from an array",
            ),
            RepairKind::Linked => (
                "reference added to match the other side",
                "references added to match the other side",
            ),
            RepairKind::Unlinked => (
                "reference removed to match the other side",
                "references removed to match the other side",
            ),
            RepairKind::Copied => ("document with copies updated", "documents with copies updated"),
            RepairKind::Summed => (
                "bucket with its count and sums computed again",
                "buckets with their count and sums computed again",
            ),
            RepairKind::Restored => (
                "document of an interrupted deletion or restoration restored",
                "documents of interrupted deletions or restorations restored",
            ),
            RepairKind::Claimed => (
                "document with its unique values claimed",
                "documents with their unique values claimed",
            ),
            RepairKind::Freed => (
                "claim without an owner removed",
                "claims without an owner removed",
            ),
            RepairKind::Deduplicated => (
                "array with duplicate references removed",
                "arrays with duplicate references removed",
            ),
        }
    }
}

impl fmt::Display for RepairKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words().1)
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, several) = self.what.words();
        let what = if self.count == 1 { one } else { several };
        write!(f, "`{}`.`{}`: {} {what}", self.collection, self.field, self.count)
    }
}

/// The repairs and the findings that are left, a line each.
impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for repair in &self.repairs {
            writeln!(f, "{repair}")?;
        }
        if !self.left.is_clean() {
            for line in self.left.to_string().lines() {
                writeln!(f, "left: {line}")?;
            }
        } else if self.repairs.is_empty() {
            return self.left.fmt(f);
        }
        match self.left.documents {
            1 => f.write_str("1 document was read"),
            n => write!(f, "{n} documents were read"),
        }
    }
}
