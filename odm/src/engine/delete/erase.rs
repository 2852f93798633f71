//! Deletes the documents of a batch, with the other side of their links and what is derived of them.

use crate::engine::delete::detach::{Detachment, LostParents};
use crate::engine::delete::walk::{BATCH, DeletionWalk, OnTheWay, WalkLevel};
use crate::engine::write::drain;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::rules::on_delete::OnDeleteRule;
use crate::rules::rule::{DeferredWork, Effects};
use crate::store::batch::document_id as id;
use crate::store::batch::{DocumentBatch, document, ids};
use crate::store::cx::{Cx, found_one};
use crate::store::each;
use crate::store::filter::{all, named_id};
use crate::store::server::Topology;
use crate::store::session::Session;
use crate::store::transaction;
use crate::{Result, rules};
use mongodb::bson::{Document, RawDocumentBuf, doc};
use std::collections::HashSet;

/// Maximum number of documents that one transaction changes: it has to end within the server's minute.
const LINKS: usize = 5_000;

/// Maximum size of the documents that one condition compares with, unless it is a single document: a message has at most 16
/// MiB.
const BYTES: usize = 8 << 20;

impl<'a> DeletionWalk<'a, '_> {
    /// Deletes the batch; afterwards it contains the documents that were deleted.
    pub(super) async fn delete(&mut self, level: &mut WalkLevel<'a>) -> Result<()> {
        let unlinks: Vec<OnDeleteRule<'a>> = if !self.is_standalone() {
            level.rules.two_way()
        } else {
            Vec::new()
        };
        let batch = std::mem::take(&mut level.batch);
        let mut gone: Vec<RawDocumentBuf> = Vec::with_capacity(batch.len());
        for part in parts(batch, &unlinks) {
            let mut erased = if !(self.transactions && (!unlinks.is_empty() || level.rules.derives)) {
                erase(self.cx, level, &part, (&unlinks, &self.on_the_way), false).await?
            } else {
                let (cx, level, part) = (self.cx, &*level, &part);
                let unlinks = (unlinks.as_slice(), &self.on_the_way);
                transaction::take_turns(cx, Vec::new(), async |session| {
                    erase(cx.within(&session), level, part, unlinks, true).await
                })
                .await?
            };
            self.deleted(level, erased.deleted);
            self.drain_after(std::mem::take(&mut erased.deferred)).await?;
            for (rule, changed) in unlinks.iter().zip(erased.unlinked) {
                self.count(*rule, changed);
            }
            for document in part {
                let id = id(&document);
                if !erased.there.contains(&Key::of_bson(&id)) {
                    gone.push(document)
                } else {
                    self.on_the_way
                        .remove(&(level.meta.collection, Key::of_bson(&id)));
                    if level.rules.whole {
                        level.changed.push(id);
                    }
                }
            }
        }
        if !gone.is_empty() {
            level.attempts = 0;
        }
        if level.rules.has_hooks {
            self.hooked
                .extend(gone.iter().map(|document| (level.meta, document.clone())));
        }
        level.batch = gone;
        Ok(())
    }

    /// Deletes the next batch of documents that no rule protects or follows, but of which something is derived: they are read in the
    /// transaction that deletes them.
    pub(super) async fn delete_next(&mut self, level: &mut WalkLevel<'a>) -> Result<()> {
        let (meta, filter, last) = (level.meta, &level.filter, level.last.as_ref());
        let work = async |cx: Cx<'_>| {
            let fields = rules::needed(cx.odm.graph(), meta);
            let is_one = named_id(filter).is_some() && cx.odm.server().await?.topology() != Topology::Sharded;
            let (batch, deleted) = if is_one {
                let taken = Vec::from_iter(cx.take(meta, filter.clone(), fields).await?);
                let deleted = taken.len() as u64;
                (DocumentBatch::last(taken), deleted)
            } else {
                let batch = cx.next_batch(meta, filter, last, Some(fields), BATCH).await?;
                found_one(meta, filter, &batch.documents)?;
                let deleted = if batch.documents.is_empty() {
                    0
                } else {
                    cx.delete(meta, among(&batch.documents)).await?
                };
                (batch, deleted)
            };
            let mut effects = Effects::new(&cx);
            let documents: Vec<&RawDocumentBuf> = batch.documents.iter().collect();
            effects.deleted(&cx, meta, &documents).await?;
            let (_, deferred) = effects.apply(&cx).await?;
            Ok((batch, deleted, deferred))
        };
        let (batch, deleted, deferred) = match self.cx.session {
            Some(_) => work(self.cx).await?,
            None => {
                let in_session = async |session: Session| work(self.cx.within(&session)).await;
                transaction::take_turns(self.cx, Vec::new(), in_session).await?
            }
        };
        level.read(batch);
        self.deleted(level, deleted);
        self.drain_after(deferred).await
    }

    /// Applies the work that a transaction of a deletion has left. If that fails, the documents after it are deleted and checked
    /// nevertheless.
    async fn drain_after(&mut self, deferred: DeferredWork) -> Result<()> {
        match self.cx.session {
            Some(session) => session.defer(deferred),
            None => {
                let drained = each::but_for_the_deployment(deferred.drain(&self.cx).await)?;
                self.failed = std::mem::replace(&mut self.failed, Ok(())).and(drained.map(drop));
            }
        }
        Ok(())
    }
}

struct Erased {
    deleted: u64,
    /// The ids of those that are still there: they have changed since they were read.
    there: HashSet<Key>,
    /// By rule.
    unlinked: Vec<u64>,
    /// The work that is left after the commit.
    deferred: DeferredWork,
}

/// Deletes documents if they are still as they were read, and removes the links to the deleted ones. Documents that were read
/// before the transaction began are read again in it if something is derived from them: another client may have changed or
/// deleted them since, with their effects.
async fn erase(
    cx: Cx<'_>,
    level: &WalkLevel<'_>,
    part: &[RawDocumentBuf],
    (unlinks, on_the_way): (&[OnDeleteRule<'_>], &OnTheWay),
    read_before: bool,
) -> Result<Erased> {
    let all_ids = ids(part);
    let mut erased = Erased {
        deleted: 0,
        there: HashSet::new(),
        unlinked: Vec::new(),
        deferred: DeferredWork::default(),
    };
    if part.is_empty() {
        return Ok(erased);
    }
    let filter = if !level.rules.whole {
        all([among(part), level.filter.clone()])
    } else {
        as_read(level.meta, part)?
    };
    let graph = cx.odm.graph();
    let fields = || rules::needed(graph, level.meta);
    let mut own = None;
    // Outside of a transaction, what is derived from them is derived without them before they are deleted.
    erased.deleted = if level.rules.derives && cx.session.is_none() {
        drain::delete_after_draining(&cx, level.meta, filter).await?
    } else if !(read_before && level.rules.derives) {
        cx.delete(level.meta, filter).await?
    } else if part.len() == 1 && cx.odm.server().await?.topology() != Topology::Sharded {
        let taken = cx.take(level.meta, filter, fields()).await?;
        own.insert(Vec::from_iter(taken)).len() as u64
    } else {
        own = Some(cx.every(level.meta, filter.clone(), fields()).await?);
        cx.delete(level.meta, filter).await?
    };
    if erased.deleted < part.len() as u64 {
        let left = cx.there(level.meta, &all_ids).await?;
        erased.there = left.iter().map(|document| Key::of_bson(&id(document))).collect();
    }
    let gone: Vec<&RawDocumentBuf> = part
        .iter()
        .filter(|document| !erased.there.contains(&Key::of_bson(&id(document))))
        .collect();
    let mut effects = Effects::new(&cx);
    for rule in unlinks {
        let changed = match rule.holders(gone.iter().copied()) {
            Some(filter) => {
                let named = rule.named(gone.iter().copied());
                let detachment = Detachment {
                    rule: *rule,
                    holders: named.iter().map(Key::to_bson).collect(),
                    filter,
                    change: rule.detachment(gone.iter().copied()),
                    parents: LostParents::Left,
                };
                detachment.apply(&cx, on_the_way, &mut effects).await?
            }
            None => 0,
        };
        erased.unlinked.push(changed);
    }
    if cx.session.is_some() {
        if level.rules.derives {
            let deleted = own.as_ref().map_or(gone, |own| own.iter().collect());
            effects.deleted(&cx, level.meta, &deleted).await?;
        }
        (_, erased.deferred) = effects.apply(&cx).await?;
    }
    Ok(erased)
}

/// Splits a batch by the maximum number of links for one transaction, and the maximum number of bytes for one condition.
fn parts(batch: Vec<RawDocumentBuf>, unlinks: &[OnDeleteRule<'_>]) -> Vec<Vec<RawDocumentBuf>> {
    let mut parts: Vec<Vec<RawDocumentBuf>> = Vec::new();
    let (mut links, mut bytes) = (0, 0);
    for document in batch {
        let more: usize = unlinks.iter().map(|rule| rule.named([&document]).len()).sum();
        let size = document.as_bytes().len();
        links += more;
        bytes += size;
        match parts.last_mut() {
            Some(part) if links <= LINKS && bytes <= BYTES => part.push(document),
            _ => {
                (links, bytes) = (more, size);
                parts.push(vec![document]);
            }
        }
    }
    parts
}

/// The condition of these documents.
fn among(documents: &[RawDocumentBuf]) -> Document {
    doc! { "_id": { "$in": ids(documents) } }
}

/// The condition of those of these documents that are still as they were read.
fn as_read(meta: &'static DocumentMeta, documents: &[RawDocumentBuf]) -> Result<Document> {
    let as_read = documents.iter().map(|raw| document(raw, meta));
    let as_read: Vec<Document> = as_read.collect::<Result<_>>()?;
    let is_one = doc! { "$expr": { "$in": ["$$ROOT", { "$literal": as_read }] } };
    Ok(all([among(documents), is_one]))
}
