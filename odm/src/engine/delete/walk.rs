//! The walk of a deletion: down the references to the deleted documents, level by level, by the `on_delete` rules of these references.
//!
//! Every deletion is two walks: the first one looks for a `restrict`, down every cascade that may reach one, and writes
//! nothing; the second one deletes. Whether references refuse a deletion is decided in `rules/on_delete/restrict.rs`.
//!
//! A document is deleted after everything that refers to it, in batches in the order of their ids, so the rest of an interrupted
//! deletion is found again from the document at the top. After a batch is deleted, references to it are looked up again: this finds
//! a writer that checked its target before the deletion and wrote after the first look; one that writes later finds the target gone
//! when it checks again itself.
//!
//! The levels of a cascade are a list rather than calls within calls: a chain of references may be as long as the collection.
//!
//! # Round trips
//!
//! | step, for a batch of documents | round trips |
//! | --- | --- |
//! | the documents are read | 1, if a rule applies to them, or something is derived of them |
//! | a reference with `restrict` | 1 before they are deleted, and 1 after that if it is one-way |
//! | with `cascade` | those of the level below, and 1 after |
//! | with `nullify` or `pull`, one-way | 1 for each 1,000 holders and 1 that updates them, and 1 after |
//! | with `cascade`, of a purge | the same, and 1 before and 1 after for those that are not deleted |
//! | by another field than `_id`, of a purge | 1 more, for other documents with the key |
//! | two-way, with `nullify` or `pull` | 1, and 1 for the commit; on a standalone server as one-way |
//! | with `keep` | 0 |
//! | they are deleted | 1, and 1 for the commit if it is a transaction |
//!
//! On top of this come those of the values that are derived of the deleted documents and of the holders, and 1 for the commit of the
//! transaction in which holders are updated with these values.

use crate::engine::write::documents::found;
use crate::error::results::Deleted;
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::model::own_fields;
use crate::model::reference::OnDelete;
use crate::plan::outcome::Gone;
use crate::plan::repeated::{empties_itself, is_asked_once, rest};
use crate::rules::claims;
use crate::rules::on_delete::restrict::Restricting;
use crate::rules::on_delete::{Detached, OnDeleteRule, Rules};
use crate::rules::rule::DeferredWork;
use crate::store::batch::document_id as id;
use crate::store::batch::{DocumentBatch, after_id};
use crate::store::cx::{Cx, found_one};
use crate::store::filter::all;
use crate::store::transaction::Turn;
use crate::{Error, Result, rules};
use futures::FutureExt;
use futures::future::BoxFuture;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Number of documents of one level that are deleted, or changed, at a time.
pub(super) const BATCH: usize = 1_000;

/// The same where each document is compared with its state when it was read.
const WHOLE_BATCH: usize = 200;

/// Maximum number of attempts to delete documents that keep changing.
const ATTEMPTS: u32 = 10;

/// Deletes the documents that match, by the rules of all registered references. The counts are added to `done`, also where it
/// ends with an error, and the documents that hooks are called with to `gone`.
pub(crate) fn walk<'s>(
    cx: Cx<'s>,
    meta: &'static DocumentMeta,
    filter: Document,
    done: &'s mut Deleted,
    gone: &'s mut Gone,
) -> BoxFuture<'s, Result<()>> {
    // Boxed: the future is large, and most deletions do not come here.
    async move {
        may_follow(cx, meta)?;
        if cx.session.is_none() && frees_claims(cx.odm.graph(), meta) && !cx.odm.has_transactions().await? {
            return Err(claims::unsupported(cx.odm).await?);
        }
        let turn = match cx.session {
            Some(session) => Some(session.turn().await),
            None => None,
        };
        let walked = walk_in_turn(cx, meta, filter, (done, gone)).await;
        turn.into_iter().for_each(Turn::complete);
        walked
    }
    .boxed()
}

async fn walk_in_turn(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    (done, gone): (&mut Deleted, &mut Gone),
) -> Result<()> {
    let filter = asked_once(&cx, meta, filter).await?;
    let transactions = cx.session.is_none() && cx.odm.has_transactions().await?;
    let mut walk = DeletionWalk::new(cx, transactions, done);
    walk.purges = meta.soft_delete.is_some();
    let mut root = walk.level(meta, filter, true);
    if root.rules.restricts {
        let copy = walk.level(meta, root.filter.clone(), true);
        walk.run(copy).await?;
        // A single batch need not be read again.
        if let Some(documents) = walk.first.take() {
            root.resume(WalkState::Before(0), documents);
        }
    }
    walk.deletes = true;
    let outcome = walk.run(root).await;
    let drained = walk.drain().await;
    gone.append(&mut walk.hooked);
    if let Some(session) = cx.session {
        if let Err(error) = &outcome {
            // A part of it may be written: it must not be committed, whatever the caller does with the error.
            session.spoil(error);
        }
        session.look_at_the_end(std::mem::take(&mut walk.later));
    }
    outcome.and(drained)
}

/// The condition of the documents that a deletion is for. Their derived fields, and links among each other, change before they are
/// deleted: a condition on these is evaluated once.
pub(super) async fn asked_once(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
) -> Result<Document> {
    let graph = cx.odm.graph();
    if !is_asked_once(graph, meta, &filter) && !empties_itself(graph, meta, &filter) {
        return Ok(filter);
    }
    let rest = rest(graph, meta, &filter, empties_itself);
    let found = found(cx, meta, filter, "deleted").await?;
    Ok(all([doc! { "_id": { "$in": found } }, rest]))
}

/// Whether a deletion may remove documents with claims.
fn frees_claims(graph: &Graph, meta: &'static DocumentMeta) -> bool {
    let mut deleted = [meta].into_iter().chain(graph.cascades(meta, |_| true));
    deleted.any(|meta| graph.is_claimed(meta))
}

/// Refuses a deletion that writes documents whose copies these models lack, or that deletes documents to which they lack
/// references.
fn may_follow(cx: Cx<'_>, meta: &'static DocumentMeta) -> Result<()> {
    let (odm, graph) = (cx.odm, cx.odm.graph());
    for meta in [meta].into_iter().chain(graph.cascades(meta, |_| true)) {
        odm.may_delete(meta)?;
        let is_written =
            |edge: &&Edge| !matches!(edge.reference.on_delete, OnDelete::Keep | OnDelete::Restrict);
        for edge in graph.incoming(meta).filter(is_written) {
            odm.may_write(edge.holder)?;
        }
    }
    Ok(())
}

/// Looks for new references to documents that were deleted in a transaction, after its commit.
pub(crate) async fn recheck_references(cx: Cx<'_>, later: Vec<DeferredRecheck>) -> Result<()> {
    let transactions = cx.odm.has_transactions().await?;
    let mut done = Deleted::default();
    let mut walk = DeletionWalk::new(cx, transactions, &mut done);
    walk.deletes = true;
    let mut failed = None;
    for DeferredRecheck {
        meta,
        deleted,
        purges,
    } in later
    {
        if walk.purges != purges {
            walk.purges = purges;
            walk.rules.clear();
        }
        let mut level = walk.level(meta, Document::new(), false);
        level.resume(WalkState::Look, deleted);
        if let Err(error) = walk.run(level).await {
            failed = failed.or(Some(error));
        }
    }
    let drained = walk.drain().await;
    failed.map_or(drained, Err)
}

/// Documents that were deleted in a transaction of the caller: references to them are looked up again after its commit.
#[derive(Debug)]
pub(crate) struct DeferredRecheck {
    meta: &'static DocumentMeta,
    deleted: Vec<RawDocumentBuf>,
    purges: bool,
}

pub(super) enum WalkState {
    /// The next batch is to be read.
    Read,
    /// This rule is to be applied to the documents that refer to the batch.
    Before(usize),
    /// The batch is to be deleted.
    Delete,
    /// It is deleted: new references that restrict the deletion are to be looked up.
    Look,
    /// This rule is to be applied to the documents that have got a reference to it meanwhile.
    After(usize),
    /// Documents that were changed since they were read are to be read again.
    Again,
}

/// Documents that are deleted for the same reason: the condition at the top, or a reference to documents of the level above.
pub(super) struct WalkLevel<'a> {
    pub(super) meta: &'static DocumentMeta,
    pub(super) rules: Arc<Rules<'a>>,
    /// All documents of the level.
    pub(super) filter: Document,
    pub(super) root: bool,
    pub(super) state: WalkState,
    pub(super) batch: Vec<RawDocumentBuf>,
    /// The id of the last document that was read.
    pub(super) last: Option<Bson>,
    pub(super) more: bool,
    pub(super) batches: u32,
    /// The ids of those that had changed since they were read.
    pub(super) changed: Vec<Bson>,
    pub(super) attempts: u32,
    /// The error of the references that restricted the deletion of some of the batch.
    pub(super) refused: Option<Error>,
}

impl<'a> WalkLevel<'a> {
    /// Goes behind this batch, and returns its documents.
    pub(super) fn read(&mut self, batch: DocumentBatch) -> Vec<RawDocumentBuf> {
        self.more = batch.more;
        self.batches += 1;
        if let Some(last) = batch.documents.last() {
            self.last = Some(id(last));
        }
        batch.documents
    }

    /// Continues with a batch that contains the whole level.
    fn resume(&mut self, state: WalkState, batch: Vec<RawDocumentBuf>) {
        self.batch = batch;
        self.more = false;
        self.state = state;
    }

    /// The look for references that refuse the deletion of documents of the batch, before it or after it.
    pub(super) fn restricting<'l>(&'l self, cx: Cx<'l>, after: bool) -> Restricting<'l, 'a> {
        let together = if after {
            // Those that are still to be deleted.
            let changed = doc! { "_id": { "$in": &self.changed } };
            let coming = self.last.as_ref().filter(|_| self.more);
            let coming = coming.map(|last| all([self.filter.clone(), after_id(self.meta, last)]));
            [changed].into_iter().chain(coming).collect()
        } else {
            vec![self.filter.clone()]
        };
        Restricting {
            cx,
            meta: self.meta,
            rules: &self.rules,
            together,
            after,
        }
    }
}

/// The documents in the batches of all levels of a deletion, by collection and id.
pub(super) type OnTheWay = HashSet<(&'static str, Key)>;

pub(super) struct DeletionWalk<'a, 'd> {
    pub(super) cx: Cx<'a>,
    /// Whether two-way references are removed in transactions of this walk's own.
    pub(super) transactions: bool,
    /// Whether documents are removed that a deletion has kept.
    purges: bool,
    /// Whether this is the walk that deletes, or the one that looks for a `restrict`.
    pub(super) deletes: bool,
    pub(super) rules: HashMap<&'static str, Arc<Rules<'a>>>,
    /// The documents in the batches of all levels. One that is met again refers to itself in a circle.
    pub(super) on_the_way: OnTheWay,
    pub(super) done: &'d mut Deleted,
    pub(super) hooked: Gone,
    /// The batch at the top, if one was all.
    pub(super) first: Option<Vec<RawDocumentBuf>>,
    pub(super) later: Vec<DeferredRecheck>,
    /// The token of the pending work of documents from which references were removed.
    pub(super) token: own_fields::Token,
    /// This pending work, and the parents that children were detached from: they may stay after all, or be inserted again.
    pub(super) deferred: DeferredWork,
    /// The failure of pending work after a transaction, which stays pending.
    pub(super) failed: Result<()>,
}

impl<'a, 'd> DeletionWalk<'a, 'd> {
    fn new(cx: Cx<'a>, transactions: bool, done: &'d mut Deleted) -> Self {
        DeletionWalk {
            cx,
            transactions,
            purges: false,
            deletes: false,
            rules: HashMap::new(),
            on_the_way: HashSet::new(),
            done,
            hooked: Gone::new(),
            first: None,
            later: Vec::new(),
            token: own_fields::Token::new(),
            deferred: DeferredWork::default(),
            failed: Ok(()),
        }
    }

    /// Whether the two sides of a link are separate writes: on a standalone server.
    pub(super) fn is_standalone(&self) -> bool {
        !self.transactions && self.cx.session.is_none()
    }

    /// Applies the pending work of documents from which references were removed, and of the parents that lost children.
    async fn drain(&mut self) -> Result<()> {
        let mut drained = std::mem::replace(&mut self.failed, Ok(()));
        let deferred = std::mem::take(&mut self.deferred);
        match self.cx.session {
            Some(session) => session.defer(deferred),
            None => drained = drained.and(deferred.drain(&self.cx).await.map(drop)),
        }
        drained
    }

    fn rules(&mut self, meta: &'static DocumentMeta) -> Arc<Rules<'a>> {
        let graph = self.cx.odm.graph();
        let of = if self.purges {
            Rules::for_purge
        } else {
            Rules::for_model
        };
        self.rules
            .entry(meta.collection)
            .or_insert_with(|| Arc::new(of(graph, meta)))
            .clone()
    }

    pub(super) fn level(
        &mut self,
        meta: &'static DocumentMeta,
        filter: Document,
        root: bool,
    ) -> WalkLevel<'a> {
        WalkLevel {
            meta,
            rules: self.rules(meta),
            filter,
            root,
            state: WalkState::Read,
            batch: Vec::new(),
            last: None,
            more: true,
            batches: 0,
            changed: Vec::new(),
            attempts: 0,
            refused: None,
        }
    }

    async fn run(&mut self, mut top: WalkLevel<'a>) -> Result<()> {
        self.on_the_way.clear();
        self.enter(&mut top);
        let mut levels = vec![top];
        while let Some(mut level) = levels.pop() {
            let below = self.step(&mut level).await?;
            if let Some(below) = below {
                levels.push(level);
                levels.extend(below);
            }
        }
        Ok(())
    }

    /// One step of a level: `None` when it is done, else the level below that comes first.
    async fn step(&mut self, level: &mut WalkLevel<'a>) -> Result<Option<Option<WalkLevel<'a>>>> {
        match level.state {
            WalkState::Read => {
                self.unmark(level);
                if !level.more {
                    if !self.deletes && level.root && level.batches == 1 {
                        self.first = Some(std::mem::take(&mut level.batch));
                    }
                    return Ok(None);
                }
                let joins = self.cx.session.is_some() && level.rules.derives && !level.rules.has_hooks;
                if (self.transactions || joins) && self.deletes && level.rules.list.is_empty() {
                    self.delete_next(level).await?;
                    return Ok(Some(None));
                }
                self.read(level).await?;
                if !level.batch.is_empty() {
                    level.restricting(self.cx, false).check(&level.batch).await?;
                    level.state = WalkState::Before(0);
                }
            }
            WalkState::Before(at) => {
                let Some(rule) = level.rules.list.get(at).copied() else {
                    level.state = if self.deletes {
                        WalkState::Delete
                    } else {
                        WalkState::Read
                    };
                    return Ok(Some(None));
                };
                level.state = WalkState::Before(at + 1);
                let own = if self.purges {
                    rule.with_own_key(&self.cx, level.meta, &level.batch).await?
                } else {
                    Cow::Borrowed(level.batch.as_slice())
                };
                return self.apply(level.meta, &own, rule).await.map(Some);
            }
            WalkState::Delete => {
                self.delete(level).await?;
                level.state = match self.cx.session {
                    None => WalkState::Look,
                    Some(_) => {
                        self.postpone(level);
                        WalkState::Again
                    }
                };
            }
            WalkState::Look => {
                self.restore_referenced(level).await?;
                level.state = WalkState::After(0);
            }
            WalkState::After(at) => {
                let Some(rule) = level.rules.list.get(at).copied() else {
                    level.state = WalkState::Again;
                    return Ok(Some(None));
                };
                level.state = WalkState::After(at + 1);
                // A new two-way reference would have changed the document itself, which then would not have been deleted;
                // without a transaction the other side of a link may have been written before it.
                if !rule.is_two_way() || self.is_standalone() {
                    return self.apply_late(level, rule).await.map(Some);
                }
            }
            WalkState::Again => {
                level.state = WalkState::Read;
                if let Some(error) = level.refused.take() {
                    return Err(error);
                }
                if !level.changed.is_empty() {
                    self.read_again(level).await?;
                }
            }
        }
        Ok(Some(None))
    }

    /// Reads the next batch.
    async fn read(&mut self, level: &mut WalkLevel<'a>) -> Result<()> {
        // The walk that only looks needs no whole documents, except in the first batch, which is the only one most of the time.
        let whole = level.rules.whole && (self.deletes || level.root && level.batches == 0);
        let (fields, limit) = if whole {
            (None, WHOLE_BATCH)
        } else if self.cx.session.is_some() && level.rules.derives {
            // The values that are derived of them are updated in this transaction.
            let mut fields = level.rules.fields.clone();
            let needed = rules::needed(self.cx.odm.graph(), level.meta);
            needed.keys().for_each(|name| read_too(&mut fields, name));
            (Some(fields), BATCH)
        } else {
            (Some(level.rules.fields.clone()), BATCH)
        };
        let after = level.last.as_ref();
        let batch = self
            .cx
            .next_batch(level.meta, &level.filter, after, fields, limit)
            .await?;
        found_one(level.meta, &level.filter, &batch.documents)?;
        level.batch = level.read(batch);
        level.attempts = 0;
        self.enter(level);
        Ok(())
    }

    /// Reads those again that had changed, if they still are to be deleted.
    async fn read_again(&mut self, level: &mut WalkLevel<'a>) -> Result<()> {
        self.unmark(level);
        level.attempts += 1;
        if level.attempts > ATTEMPTS {
            return Err(Error::Contention {
                collection: level.meta.collection,
                source: None,
                message: format!(
                    "documents changed during each of {ATTEMPTS} attempts to delete them, such as the one with _id {}: try \
                     again",
                    level.changed.first().unwrap_or(&Bson::Null)
                ),
            });
        }
        let changed = std::mem::take(&mut level.changed);
        let filter = all([level.filter.clone(), doc! { "_id": { "$in": &changed } }]);
        let batch = self
            .cx
            .first_batch(level.meta, filter, None, changed.len() + 1)
            .await?;
        level.batch = batch.documents;
        if batch.more {
            // They have grown: the others follow.
            let read: HashSet<Key> = level.batch.iter().map(|one| Key::of_bson(&id(one))).collect();
            let rest = changed.into_iter();
            level.changed = rest.filter(|id| !read.contains(&Key::of_bson(id))).collect();
            level.attempts = 0;
        }
        self.enter(level);
        if !level.batch.is_empty() {
            level.restricting(self.cx, false).check(&level.batch).await?;
            level.state = WalkState::Before(0);
        }
        Ok(())
    }

    /// The second look waits until the caller's transaction is committed: its snapshot shows no new references.
    fn postpone(&mut self, level: &WalkLevel<'a>) {
        let one_way = level.rules.list.iter().any(|rule| !rule.is_two_way());
        if one_way && !level.batch.is_empty() {
            self.later.push(DeferredRecheck {
                meta: level.meta,
                deleted: level.batch.clone(),
                purges: self.purges,
            });
        }
    }

    /// Leaves out the documents that the walk has reached already.
    fn enter(&mut self, level: &mut WalkLevel<'a>) {
        let collection = level.meta.collection;
        level
            .batch
            .retain(|document| self.on_the_way.insert((collection, Key::of_bson(&id(document)))));
    }

    fn unmark(&mut self, level: &WalkLevel<'a>) {
        for document in &level.batch {
            self.on_the_way
                .remove(&(level.meta.collection, Key::of_bson(&id(document))));
        }
    }

    /// Applies the rule to the documents that refer to these; returns them as a level, where they are deleted too.
    async fn apply(
        &mut self,
        meta: &'static DocumentMeta,
        documents: &[RawDocumentBuf],
        rule: OnDeleteRule<'a>,
    ) -> Result<Option<WalkLevel<'a>>> {
        match rule.on_delete() {
            OnDelete::Cascade => {
                let holder = rule.edge.holder;
                let Some(mut filter) = rule.holders(documents) else {
                    return Ok(None);
                };
                if let Some(name) = holder.soft_delete.filter(|_| self.purges) {
                    filter = all([filter, doc! { name: { "$ne": null } }]);
                }
                let below = self.level(holder, filter, false);
                if !self.deletes {
                    return Ok(below.rules.restricts.then_some(below));
                }
                if below.rules.is_empty() {
                    self.done.cascaded += self.cx.delete_repeatedly(holder, below.filter).await?;
                    return Ok(None);
                }
                Ok(Some(below))
            }
            // Two-way references are removed in one transaction with the documents.
            OnDelete::Nullify | OnDelete::Pull
                if self.deletes && (!rule.is_two_way() || self.is_standalone()) =>
            {
                self.detach(meta, documents, rule).await?;
                Ok(None)
            }
            OnDelete::Nullify | OnDelete::Pull | OnDelete::Restrict | OnDelete::Keep => Ok(None),
        }
    }

    /// Applies the rule to documents that have got a reference to the batch since the first look.
    async fn apply_late(
        &mut self,
        level: &WalkLevel<'a>,
        rule: OnDeleteRule<'a>,
    ) -> Result<Option<WalkLevel<'a>>> {
        if rule.on_delete() == OnDelete::Restrict {
            return Ok(None);
        }
        let Some(refers) = rule.holders(&level.batch) else {
            return Ok(None);
        };
        let fields = doc! { "_id": 1 };
        let found = self.cx.few(rule.edge.holder, refers, fields, 1).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let (gone, there) = self.gone(level, rule).await?;
        self.renew(rule, &there).await?;
        self.apply(level.meta, &gone, rule).await
    }

    pub(super) fn count(&mut self, rule: OnDeleteRule<'a>, changed: u64) {
        match rule.counts_as() {
            Detached::Nullified => self.done.nullified += changed,
            Detached::Pulled => self.done.pulled += changed,
        }
    }

    pub(super) fn deleted(&mut self, level: &WalkLevel<'_>, deleted: u64) {
        if level.root {
            self.done.deleted += deleted
        } else {
            self.done.cascaded += deleted
        }
    }
}
