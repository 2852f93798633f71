//! The rule of copies: a write reads the copied fields of its sources, and updates the copies of its own fields in other documents.

use crate::Result;
use crate::graph::Graph;
use crate::graph::edge::{CopyField, Edge};
use crate::graph::sync::{is_kept, kept_in_sync, missing};
use crate::model::document::DocumentMeta;
use crate::model::key::{self, Key};
use crate::model::meta::names::root;
use crate::model::own_fields::{COPIED, HOLDERS_LEFT, OPERATION, OWN, VERSION};
use crate::plan::images::Image;
use crate::plan::operation::Write;
use crate::plan::touches::{ChangedDocument, WrittenFields};
use crate::rules::copy::deliver::{
    DeliverTo, deliver, held, is_read_on, passed_on, pull, raise_counted, sources_within,
};
use crate::rules::copy::fill;
use crate::rules::copy::value::Copies;
use crate::rules::derived::DerivedValue;
use crate::rules::pending::PendingWork;
use crate::rules::rule::{
    Draining, Effects, Expected, MetaRef, NewDocuments, Replacing, RuleStep, SyncRule, Updating, nothing,
};
use crate::store::batch::{self, by_ids, id};
use crate::store::cx::{Cx, Statement};
use crate::store::each::WriteReport;
use crate::store::fields::{at, is_number};
use futures::future::FutureExt;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Maximum number of times that documents are read again because other writers have changed their copies.
pub(crate) const PULLS: usize = 20;

/// The rule of copies.
pub(crate) struct Copying;

impl SyncRule for Copying {
    fn values<'g>(&self, graph: &'g Graph) -> Vec<Box<dyn DerivedValue + 'g>> {
        let copies = graph.edges().iter().filter_map(Copies::new);
        copies
            .map(|value| -> Box<dyn DerivedValue> { Box::new(value) })
            .collect()
    }

    fn fill_new<'s>(&'s self, cx: &'s Cx<'_>, meta: MetaRef, new: &'s mut NewDocuments<'_>) -> RuleStep<'s> {
        fill::fill_new(cx, meta, new).boxed()
    }

    fn fill_update<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        updating: &'s mut Updating<'_>,
    ) -> RuleStep<'s> {
        fill::fill_update(cx, meta, updating).boxed()
    }

    fn fill_replacement<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        replacing: &'s mut Replacing<'_>,
    ) -> RuleStep<'s> {
        fill::fill_replacement(cx, meta, replacing).boxed()
    }

    fn fields(&self, graph: &Graph, meta: &DocumentMeta, names: &mut HashSet<String>) {
        graph.name_fields_of_copies(meta, names);
    }

    /// References that the writes do not add get no new copies, and their targets may be missing by now.
    fn compares(&self, graph: &Graph, meta: &DocumentMeta, writes: &[&Write]) -> bool {
        let keeps_some = |edge: &Edge| {
            edge.array().is_some() || writes.iter().any(|write| !write.replaces_reference(edge))
        };
        let mut kept = graph.copying(meta).filter(|edge| is_kept(edge));
        kept.any(keeps_some)
    }

    fn after_write<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        images: &'s [Image],
        effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        async move {
            if !effects.are_in_transaction() {
                return Ok(());
            }
            let graph = cx.odm.graph();
            let kept = graph.copying(meta).filter(|edge| is_kept(edge));
            effects.expected = kept.flat_map(|edge| expected(cx, edge, images)).collect();
            let mut earlier: HashMap<Key, WrittenFields> = HashMap::new();
            let known = images.iter().filter_map(|image| image.before().or(image.after()));
            for document in known {
                // Not recorded as known: a later change that is passed on to it reaches further than its current copies.
                earlier.insert(id(document), WrittenFields::Of(Vec::new()).with_pending(document));
            }
            // Only such a write has certainly raised the version of its sources.
            let to = if images.iter().all(|image| image.by_one_write) {
                DeliverTo::Every
            } else {
                DeliverTo::Older
            };
            for edge in graph.copied(meta).filter(|edge| is_kept(edge)) {
                let after = |inserted: bool| {
                    let written = images.iter().filter(move |image| image.is_inserted() == inserted);
                    written.filter_map(|image| {
                        let after = image.is.clone()?;
                        let fields = changed_fields(edge, image)?.and(earlier.get(&id(&after)));
                        Some((after, fields))
                    })
                };
                let inserted: Vec<ChangedDocument> = after(true).collect();
                let mut changed = raise_counted(cx, meta, &inserted)
                    .await?
                    .documents
                    .unwrap_or(inserted);
                changed.extend(after(false));
                to_holders(cx, meta, edge, &changed, to, effects).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn confirm<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        images: &'s [Image],
        effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        let graph = cx.odm.graph();
        if !effects.are_in_transaction() || graph.copying(meta).next().is_none() {
            return nothing();
        }
        async move {
            let expected = std::mem::take(&mut effects.expected);
            for edge in graph.copying(meta).filter(|edge| is_kept(edge)) {
                if hold(cx, edge, images, &expected, effects.pending()).await? {
                    let written = images.iter().filter_map(|image| image.after());
                    let changed = passed_on(cx, edge, &WrittenFields::All);
                    effects.pass_on(graph, meta, ("_id", batch::ids(written)), changed);
                }
            }
            Ok(())
        }
        .boxed()
    }

    fn after_effects<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        documents: &'s [ChangedDocument],
        effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        async move {
            for edge in cx.odm.graph().copied(meta).filter(|edge| is_kept(edge)) {
                to_holders(cx, meta, edge, documents, DeliverTo::Older, effects).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn drain<'s>(&'s self, cx: &'s Cx<'_>, meta: MetaRef, draining: &'s mut Draining) -> RuleStep<'s> {
        async move {
            take(cx, meta, draining).await?;
            if !draining.is_given_up {
                pass_on_copied(cx, meta, draining).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

impl Graph {
    /// The fields in which the references stand that copies are taken through, and those that others copy.
    fn name_fields_of_copies(&self, meta: &DocumentMeta, names: &mut HashSet<String>) {
        for edge in self.copying(meta) {
            names.insert(edge.root().to_owned());
            names.insert(COPIED.to_owned());
            if edge.segments.len() == 1 && is_read_on(self, edge) {
                names.extend(edge.copies.iter().map(|copy| copy.name.to_owned()));
            }
        }
        for edge in self.copied(meta) {
            names.insert(root(edge.by()).to_owned());
            names.extend(edge.copies.iter().map(|copy| root(copy.source).to_owned()));
        }
    }

    /// The same as a projection, with the library's own fields.
    pub(crate) fn fields_of_copies(&self, meta: &DocumentMeta) -> Document {
        let mut names = HashSet::new();
        self.name_fields_of_copies(meta, &mut names);
        let mut fields = doc! { "_id": 1, OWN: 1 };
        fields.extend(names.into_iter().map(|name| (name, Bson::Int32(1))));
        fields
    }
}

/// Compares the copies in the documents with their sources, and updates those that are stale.
async fn take(cx: &Cx<'_>, meta: &'static DocumentMeta, draining: &mut Draining) -> Result<()> {
    let graph = cx.odm.graph();
    for attempt in 0.. {
        let mut overtaken = false;
        for edge in graph.copying(meta) {
            // A document that only a passed-on change has reached has no new references.
            let written = draining
                .documents
                .iter()
                .filter(|(_, changed)| *changed == WrittenFields::All);
            let written = written.map(|(document, _)| document);
            if draining.transactions && is_kept(edge) {
                let waited = wait_for_sources(cx, edge, written.clone()).await;
                if draining.applied.and(waited)?.is_none() {
                    continue;
                }
            }
            let pulled = pull(cx, edge, written, DeliverTo::Older, draining.token.into()).await;
            let Some(pulled) = draining.applied.and(pulled)? else {
                continue;
            };
            let is_any = pulled.documents > 0 || pulled.refused.is_some();
            let is_passed_on = !passed_on(cx, edge, &WrittenFields::All).is_empty();
            if is_any && is_passed_on {
                draining.pending.push(meta);
            }
            overtaken |= pulled.overtaken && is_passed_on;
            let refused = pulled.refused.into_iter();
            refused.for_each(|error| draining.applied.refuse(error));
        }
        if !overtaken {
            break;
        }
        if attempt == PULLS {
            tracing::debug!(
                target: "odm",
                collection = meta.collection,
                "other writers keep changing the same copies; their pending work is left to `recover`"
            );
            draining.is_given_up = true;
            break;
        }
        // The concurrent writer of the copies has passed on the changes that it knew, and the copies may be newer still: so
        // their current values are passed on.
        let ids = batch::ids(draining.all());
        let which = doc! { "_id": { "$in": ids }, OPERATION: { "$exists": true } };
        let again = cx.every(meta, which, draining.fields.clone()).await?;
        draining.documents = Draining::with_changed_fields(again);
    }
    Ok(())
}

/// Updates the copies of the documents in their holders.
async fn pass_on_copied(cx: &Cx<'_>, meta: &'static DocumentMeta, draining: &mut Draining) -> Result<()> {
    let mut edges = cx.odm.graph().copied(meta).peekable();
    let mut raised_documents = None;
    if edges.peek().is_some()
        && let Some(raised) = draining
            .applied
            .and(raise_counted(cx, meta, &draining.documents).await)?
    {
        raised_documents = raised.documents;
        let refused = raised.refused.into_iter();
        refused.for_each(|error| draining.applied.refuse(error));
    }
    let documents = raised_documents.as_deref().unwrap_or(&draining.documents);
    for edge in edges {
        let delivered = deliver(cx, meta, edge, documents, DeliverTo::Older, draining.token.into()).await;
        let Some(delivered) = draining.applied.and(delivered)? else {
            continue;
        };
        draining.overtaken.extend(delivered.overtaken);
        let written = WriteReport {
            documents: delivered.documents,
            refused: delivered.refused,
        };
        let mut all_changed = documents.iter().map(|(_, changed)| changed);
        if written.is_any() && all_changed.any(|changed| !passed_on(cx, edge, changed).is_empty()) {
            draining.pending.push(edge.holder);
        }
        draining.applied.add(Ok(written))?;
    }
    Ok(())
}

/// Updates the copies of these documents by one reference, in the transaction that changed them, or leaves them to be updated after it.
async fn to_holders(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    edge: &Edge,
    documents: &[ChangedDocument],
    to: DeliverTo,
    effects: &mut Effects,
) -> Result<()> {
    let delivered = deliver(cx, meta, edge, documents, to, effects.pending()).await?;
    effects.copies += delivered.documents;
    if !delivered.left.is_empty() {
        let has_changed = |source: &str| documents.iter().any(|(_, changed)| changed.is_of(source));
        let names = kept_in_sync(edge).map(|copy| copy.source);
        let names: Vec<&str> = names.filter(|source| has_changed(source)).collect();
        effects
            .leave_pending(cx, meta, doc! { "_id": { "$in": delivered.left } }, &names)
            .await?;
    }
    if delivered.documents > 0 {
        let mut keys = Vec::new();
        let mut further = Vec::new();
        for (document, changed) in documents {
            keys.extend(batch::value(document, edge.by()));
            further.extend(passed_on(cx, edge, changed));
        }
        effects.pass_on(cx.odm.graph(), edge.holder, (&edge.path, keys), further);
    }
    Ok(())
}

/// The fields that others copy by this reference and that a write changed, if any.
fn changed_fields(edge: &Edge, image: &Image) -> Option<WrittenFields> {
    let after = image.after()?;
    if image.is_inserted() {
        // Only where holders may have been there before it.
        return edge.may_name_missing().then_some(WrittenFields::All);
    }
    let is_changed = |copy: &&CopyField| match image.before() {
        Some(before) => at(before, copy.source) != at(after, copy.source),
        None => image.written.is_of(copy.source),
    };
    let names: Vec<String> = edge
        .copies
        .iter()
        .filter(is_changed)
        .map(|copy| copy.source.to_owned())
        .collect();
    (!names.is_empty()).then_some(WrittenFields::Of(names))
}

/// The copies of one source that a write has stored.
#[derive(Default)]
struct Taken {
    versions: HashSet<i64>,
    references: i64,
}

/// The copies that a write has stored, by their sources, and the documents that hold them.
fn taken<'i>(edge: &Edge, images: &'i [Image]) -> (HashMap<Key, Taken>, Vec<&'i RawDocumentBuf>) {
    let mut taken: HashMap<Key, Taken> = HashMap::new();
    let mut holders = Vec::new();
    for image in images {
        let Some(after) = image.after() else { continue };
        let known: HashSet<(Key, i64)> = match image.before() {
            Some(before) => held(edge, before).into_iter().collect(),
            None => HashSet::new(),
        };
        let mut new = held(edge, after)
            .into_iter()
            .filter(|one| !known.contains(one))
            .peekable();
        if new.peek().is_some() {
            holders.push(after);
        }
        for (key, version) in new {
            let taken = taken.entry(key).or_default();
            taken.versions.insert(version);
            taken.references += 1;
        }
    }
    (taken, holders)
}

/// The sources of these copies, with the versions that they have to have.
fn expected(cx: &Cx<'_>, edge: &Edge, images: &[Image]) -> Vec<Expected> {
    let Some(meta) = edge.first_target() else {
        return Vec::new();
    };
    let (taken, _) = taken(edge, images);
    let of_one_version = taken.into_iter().filter_map(|(key, taken)| {
        let mut versions = taken.versions.into_iter();
        // Copies of one source in two versions can't both be right.
        let version = versions.next().filter(|_| versions.next().is_none())?;
        let source = doc! { edge.by(): key.to_bson(), VERSION: is_number(version) };
        Some(Expected {
            meta,
            by: edge.by(),
            key,
            lock: lock(cx.odm.in_scope_of_existing(meta, source), taken.references),
        })
    });
    of_one_version.collect()
}

/// Locks the sources of the copies that a write has stored, if their versions are those of the copies. If a source has a newer
/// version, the copies are updated. Returns whether they were.
async fn hold(
    cx: &Cx<'_>,
    edge: &Edge,
    images: &[Image],
    expected: &[Expected],
    pending: PendingWork,
) -> Result<bool> {
    let Some(meta) = edge.first_target() else {
        return Ok(false);
    };
    let (mut taken, holders) = taken(edge, images);
    let expects = |key: &Key| expected.iter().find(|one| one.is_of(meta, edge.by(), key));
    taken.retain(|key, taken| taken.versions.len() > 1 || expects(key).is_some());
    if taken.is_empty() {
        return Ok(false);
    }
    if taken.values().all(|taken| taken.versions.len() == 1) {
        let locks = taken.keys().filter_map(expects).map(|one| one.lock.clone());
        let statements: Vec<Statement> = locks.collect();
        if cx.update(meta, &statements).await? >= taken.len() as u64 {
            return Ok(false);
        }
    }
    let references = taken.values().map(|taken| taken.references).sum();
    lock_all(cx, edge, meta, taken.keys(), references).await?;
    let existing = cx.odm.scope_of_existing(meta);
    let there = sources_within(cx, edge, taken.keys(), existing).await?;
    let gone: HashSet<&Key> = taken.keys().filter(|key| !there.contains_key(*key)).collect();
    let gone = new_among(cx, edge, gone, &holders).await?;
    if !gone.is_empty() {
        return Err(missing(edge, meta, gone));
    }
    let pulled = pull(cx, edge, holders, DeliverTo::Older, pending).await?;
    // Those with the same values have only a newer version.
    Ok(pulled.documents > 0)
}

/// Modifies a source without changing its content, for this number of new references at most: of two transactions that do so, one is
/// retried after the other has ended.
fn lock(filter: Document, references: i64) -> Statement {
    Statement {
        filter,
        update: doc! { "$inc": { HOLDERS_LEFT: -references } },
        array_filters: Vec::new(),
    }
}

async fn lock_all<'k>(
    cx: &Cx<'_>,
    edge: &Edge,
    meta: &'static DocumentMeta,
    keys: impl IntoIterator<Item = &'k Key>,
    references: i64,
) -> Result<()> {
    for keys in key::chunks(keys) {
        let all = lock(doc! { edge.by(): { "$in": keys } }, references);
        cx.update(meta, std::slice::from_ref(&all)).await?;
    }
    Ok(())
}

/// Waits for open transactions that have changed the sources of these documents, which were written without a transaction: such
/// a transaction updates the holders that its snapshot shows, and its changes can't be read yet. A transaction that changes a
/// source later is retried.
async fn wait_for_sources<'d>(
    cx: &Cx<'_>,
    edge: &Edge,
    documents: impl Iterator<Item = &'d RawDocumentBuf>,
) -> Result<()> {
    let Some(meta) = edge.first_target() else {
        return Ok(());
    };
    let mut references = 0;
    let keys: HashSet<Key> = documents
        .flat_map(|document| held(edge, document))
        .map(|(key, _)| key)
        .inspect(|_| references += 1)
        .collect();
    lock_all(cx, edge, meta, &keys, references).await
}

/// Of these keys, those that at least one of the holders got in this transaction. The copies of a deleted source can't be
/// locked, and don't change any more.
async fn new_among(
    cx: &Cx<'_>,
    edge: &Edge,
    keys: HashSet<&Key>,
    holders: &[&RawDocumentBuf],
) -> Result<Vec<Bson>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    // Read outside of the transaction, a document has its previous state, and no other client can change it meanwhile.
    let outside = Cx { session: None, ..*cx };
    let ids: Vec<Key> = holders.iter().map(|holder| id(*holder)).collect();
    let before: HashMap<Key, HashSet<Key>> = by_ids(&outside, edge.holder, ids.iter(), [edge.root()])
        .await?
        .into_iter()
        .map(|document| (id(&document), edge.all_keys(&document).into_iter().collect()))
        .collect();
    let mut new: HashSet<Key> = HashSet::new();
    for holder in holders {
        let had = before.get(&id(*holder));
        let named = edge.all_keys(holder).into_iter().filter(|key| keys.contains(key));
        new.extend(named.filter(|key| !had.is_some_and(|had| had.contains(key))));
    }
    Ok(new.iter().map(Key::to_bson).collect())
}
