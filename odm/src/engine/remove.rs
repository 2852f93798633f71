//! Deletes documents, and applies the `on_delete` rules of the documents that refer to them.
//!
//! Every deletion is two walks: the first one looks for a `restrict`, down every cascade that may reach one, and writes
//! nothing; the second one deletes. A document is deleted after everything that refers to it, in batches in the order of their
//! ids, so the rest of an interrupted deletion is found again from the document at the top. After a batch is deleted,
//! references to it are looked up again: this finds a writer that checked its target before the deletion and wrote after the
//! first look; one that writes later finds the target gone when it checks again itself.

//!

//! The levels of a cascade are a list rather than calls within calls: a chain of references may be as long as the

//! collection.

use crate::engine::documents::found;
use crate::engine::drain;
use crate::engine::propagate::Beside;
use crate::error::results::Deleted;
use crate::graph::sync::is_atomic;
use crate::graph::{Graph, is};
use crate::model::copy::SyncMode;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::names::read_too;
use crate::model::reference::OnDelete;
use crate::plan::fields::changed;
use crate::plan::repeated::{empties_itself, is_asked_once, rest};
use crate::rules::effects::{DeferredWork, Effects};
use crate::rules::library::Rewrite;
use crate::rules::on_delete::{Detached, Rule, Rules, again};
use crate::rules::pending::record_all;
use crate::session::Turn;
use crate::store::batch::document_id as id;
use crate::store::batch::{Batch, Change, all, behind, document, ids};
use crate::store::each;
use crate::store::scope::Scope;
use crate::{Error, Result, own_fields, rules, session};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Number of documents of one level that are deleted, or changed, at a time.
const BATCH: usize = 1_000;

/// The same where each document is compared with its state when it was read.
const WHOLE_BATCH: usize = 200;

/// Maximum number of documents that one transaction changes: it has to end within the server's minute.
const LINKS: usize = 5_000;

/// Maximum size of the documents that one condition compares with, unless it is a single document: a message has at most 16
/// MiB.
const BYTES: usize = 8 << 20;

/// Number of ids of holders that an error lists.
const SAMPLE: usize = 5;

/// Number of queries for references that run at once.
const AT_ONCE: usize = 8;

/// Maximum number of attempts to delete documents that keep changing.
const ATTEMPTS: u32 = 10;

/// Deletes the documents that match, by the rules of all registered references. The counts are added to `done`, also where it
/// ends with an error.
pub(crate) fn remove<'s>(
    scope: Scope<'s>,
    meta: &'static DocumentMeta,
    filter: Document,
    done: &'s mut Deleted,
) -> BoxFuture<'s, Result<()>> {
    // Boxed: the future is large, and most deletions do not come here.
    async move {
        may_follow(scope, meta)?;
        let turn = match scope.session {
            Some(session) => Some(session.turn().await),
            None => None,
        };
        let removed = remove_in_turn(scope, meta, filter, done).await;
        turn.into_iter().for_each(Turn::end);
        removed
    }
    .boxed()
}

async fn remove_in_turn(
    scope: Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    done: &mut Deleted,
) -> Result<()> {
    // Their derived fields, and links among each other, change before they are deleted.
    let graph = scope.odm.graph();
    let filter = if is_asked_once(graph, meta, &filter) || empties_itself(graph, meta, &filter) {
        let rest = rest(graph, meta, &filter, empties_itself);
        let found = found(&scope, meta, filter, "deleted").await?;
        all([doc! { "_id": { "$in": found } }, rest])
    } else {
        filter
    };
    let transactions = scope.session.is_none() && scope.odm.has_transactions().await?;
    let mut removal = Removal::new(scope, transactions, done);
    let mut root = removal.level(meta, filter, true);
    if root.rules.restricts {
        let copy = removal.level(meta, root.filter.clone(), true);
        removal.run(copy).await?;
        // A single batch need not be read again.
        if let Some(documents) = removal.first.take() {
            root.resume(State::Before(0), documents);
        }
    }
    removal.deletes = true;
    let outcome = removal.run(root).await;
    let drained = removal.drain().await;
    if let Some(session) = scope.session {
        if let Err(error) = &outcome {
            // A part of it may be written: it must not be committed, whatever the caller does with the error.
            session.spoil(error);
        }
        session.look_at_the_end(std::mem::take(&mut removal.later));
    }
    outcome.and(drained)
}

/// Refuses a deletion that writes documents whose copies these models lack, or that deletes documents to which they lack
/// references.
fn may_follow(scope: Scope<'_>, meta: &'static DocumentMeta) -> Result<()> {
    let mut known: HashSet<&str> = HashSet::new();
    let mut open = vec![meta];
    while let Some(meta) = open.pop() {
        scope.odm.may_delete(meta)?;
        for edge in scope.odm.graph().incoming(meta) {
            if matches!(edge.reference.on_delete, OnDelete::Keep | OnDelete::Restrict) {
                continue;
            }
            scope.odm.may_write(edge.holder)?;
            if edge.reference.on_delete == OnDelete::Cascade && known.insert(edge.holder.collection) {
                open.push(edge.holder);
            }
        }
    }
    Ok(())
}

/// Looks for new references to documents that were deleted in a transaction, after its commit.
pub(crate) async fn look_again(scope: Scope<'_>, later: Vec<Later>) -> Result<()> {
    let transactions = scope.odm.has_transactions().await?;
    let mut done = Deleted::default();
    let mut removal = Removal::new(scope, transactions, &mut done);
    removal.deletes = true;
    let mut failed = None;
    for Later { meta, deleted } in later {
        let mut level = removal.level(meta, Document::new(), false);
        level.resume(State::Look, deleted);
        if let Err(error) = removal.run(level).await {
            failed = failed.or(Some(error));
        }
    }
    let drained = removal.drain().await;
    failed.map_or(drained, Err)
}

/// Documents that were deleted in a transaction of the caller: references to them are looked up again after its commit.
#[derive(Debug)]
pub(crate) struct Later {
    meta: &'static DocumentMeta,
    deleted: Vec<RawDocumentBuf>,
}

enum State {
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
struct Level<'a> {
    meta: &'static DocumentMeta,
    rules: Arc<Rules<'a>>,
    /// All documents of the level.
    filter: Document,
    root: bool,
    state: State,
    batch: Vec<RawDocumentBuf>,
    /// The id of the last document that was read.
    last: Option<Bson>,
    more: bool,
    batches: u32,
    /// The ids of those that had changed since they were read.
    changed: Vec<Bson>,
    attempts: u32,
    /// The error of the references that restricted the deletion of some of the batch.
    held: Option<Error>,
}

impl Level<'_> {
    /// Goes behind this batch, and returns its documents.
    fn read(&mut self, batch: Batch) -> Vec<RawDocumentBuf> {
        self.more = batch.more;
        self.batches += 1;
        if let Some(last) = batch.documents.last() {
            self.last = Some(id(last));
        }
        batch.documents
    }

    /// Continues with a batch that contains the whole level.
    fn resume(&mut self, state: State, batch: Vec<RawDocumentBuf>) {
        self.batch = batch;
        self.more = false;
        self.state = state;
    }
}

/// The next documents that match, after the last one.
async fn next_batch(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: &Document,
    last: Option<&Bson>,
    fields: Option<Document>,
    limit: usize,
) -> Result<Batch> {
    match last {
        None => scope.first_batch(meta, filter.clone(), fields, limit).await,
        Some(last) => {
            let rest = all([filter.clone(), behind(meta, last)]);
            scope.batch(meta, rest, fields, limit).await
        }
    }
}

/// The documents in the batches of all levels of a deletion, by collection and id.
type OnTheWay = HashSet<(&'static str, Key)>;

struct Removal<'a, 'd> {
    scope: Scope<'a>,
    /// Whether two-way references are removed in transactions of this removal's own.
    transactions: bool,
    /// Whether this is the walk that deletes, or the one that looks for a `restrict`.
    deletes: bool,
    rules: HashMap<&'static str, Arc<Rules<'a>>>,
    /// The documents in the batches of all levels. One that is met again refers to itself in a circle.
    on_the_way: OnTheWay,
    done: &'d mut Deleted,
    /// The batch at the top, if one was all.
    first: Option<Vec<RawDocumentBuf>>,
    later: Vec<Later>,
    /// The token of the pending work of documents from which references were removed.
    token: own_fields::Token,
    /// This pending work, and the parents that children were detached from: they may stay after all, or be inserted again.
    deferred: DeferredWork,
    /// The failure of pending work after a transaction, which stays pending.
    failed: Result<()>,
}

impl<'a, 'd> Removal<'a, 'd> {
    fn new(scope: Scope<'a>, transactions: bool, done: &'d mut Deleted) -> Self {
        Removal {
            scope,
            transactions,
            deletes: false,
            rules: HashMap::new(),
            on_the_way: HashSet::new(),
            done,
            first: None,
            later: Vec::new(),
            token: own_fields::Token::new(),
            deferred: DeferredWork::default(),
            failed: Ok(()),
        }
    }

    /// Whether the two sides of a link are separate writes: on a standalone server.
    fn is_alone(&self) -> bool {
        !self.transactions && self.scope.session.is_none()
    }

    /// Applies the pending work of documents from which references were removed, and of the parents that lost children.
    async fn drain(&mut self) -> Result<()> {
        let mut drained = std::mem::replace(&mut self.failed, Ok(()));
        let deferred = std::mem::take(&mut self.deferred);
        match self.scope.session {
            Some(session) => session.leave(deferred),
            None => drained = drained.and(deferred.drain(&self.scope).await.map(drop)),
        }
        drained
    }

    fn rules(&mut self, meta: &'static DocumentMeta) -> Arc<Rules<'a>> {
        let graph = self.scope.odm.graph();
        self.rules
            .entry(meta.collection)
            .or_insert_with(|| Arc::new(Rules::of(graph, meta)))
            .clone()
    }

    fn level(&mut self, meta: &'static DocumentMeta, filter: Document, root: bool) -> Level<'a> {
        Level {
            meta,
            rules: self.rules(meta),
            filter,
            root,
            state: State::Read,
            batch: Vec::new(),
            last: None,
            more: true,
            batches: 0,
            changed: Vec::new(),
            attempts: 0,
            held: None,
        }
    }

    async fn run(&mut self, mut top: Level<'a>) -> Result<()> {
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
    async fn step(&mut self, level: &mut Level<'a>) -> Result<Option<Option<Level<'a>>>> {
        match level.state {
            State::Read => {
                self.leave(level);
                if !level.more {
                    if !self.deletes && level.root && level.batches == 1 {
                        self.first = Some(std::mem::take(&mut level.batch));
                    }
                    return Ok(None);
                }
                if self.transactions && self.deletes && level.rules.list.is_empty() {
                    self.delete_next(level).await?;
                    return Ok(Some(None));
                }
                self.read(level).await?;
                if !level.batch.is_empty() {
                    self.look(level).await?;
                    level.state = State::Before(0);
                }
            }
            State::Before(at) => {
                let Some(rule) = level.rules.list.get(at).copied() else {
                    level.state = if self.deletes { State::Delete } else { State::Read };
                    return Ok(Some(None));
                };
                level.state = State::Before(at + 1);
                return self.treat(level.meta, &level.batch, rule).await.map(Some);
            }
            State::Delete => {
                self.delete(level).await?;
                level.state = match self.scope.session {
                    None => State::Look,
                    Some(_) => {
                        self.postpone(level);
                        State::Again
                    }
                };
            }
            State::Look => {
                self.look_back(level).await?;
                level.state = State::After(0);
            }
            State::After(at) => {
                let Some(rule) = level.rules.list.get(at).copied() else {
                    level.state = State::Again;
                    return Ok(Some(None));
                };
                level.state = State::After(at + 1);
                // A new two-way reference would have changed the document itself, which then would not have been deleted;
                // without a transaction the other side of a link may have been written before it.
                if !rule.is_two_way() || self.is_alone() {
                    return self.treat_late(level, rule).await.map(Some);
                }
            }
            State::Again => {
                level.state = State::Read;
                if let Some(held) = level.held.take() {
                    return Err(held);
                }
                if !level.changed.is_empty() {
                    self.read_again(level).await?;
                }
            }
        }
        Ok(Some(None))
    }

    /// Reads the next batch.
    async fn read(&mut self, level: &mut Level<'a>) -> Result<()> {
        // The walk that only looks needs no whole documents, except in the first batch, which is the only one most of the time.
        let whole = level.rules.whole && (self.deletes || level.root && level.batches == 0);
        let (fields, limit) = if whole {
            (None, WHOLE_BATCH)
        } else if self.scope.session.is_some() && level.rules.derives {
            // What is derived of them is updated in this transaction.
            let mut fields = level.rules.fields.clone();
            let needed = rules::needed(self.scope.odm.graph(), level.meta);
            needed.keys().for_each(|name| read_too(&mut fields, name));
            (Some(fields), BATCH)
        } else {
            (Some(level.rules.fields.clone()), BATCH)
        };
        let after = level.last.as_ref();
        let batch = next_batch(&self.scope, level.meta, &level.filter, after, fields, limit).await?;
        level.batch = level.read(batch);
        level.attempts = 0;
        self.enter(level);
        Ok(())
    }

    /// Deletes the next batch of documents that no rule protects or follows, but of which something is derived: they are read in the
    /// transaction that deletes them.
    async fn delete_next(&mut self, level: &mut Level<'a>) -> Result<()> {
        let (scope, meta) = (self.scope, level.meta);
        let (filter, last) = (&level.filter, level.last.as_ref());
        let (batch, deleted, deferred) = session::take_turns(scope.odm, Vec::new(), async |session| {
            scope.trip(); // its commit
            let scope = scope.within(&session);
            let fields = Some(rules::needed(scope.odm.graph(), meta));
            let batch = next_batch(&scope, meta, filter, last, fields, BATCH).await?;
            if batch.documents.is_empty() {
                return Ok((batch, 0, DeferredWork::default()));
            }
            let deleted = scope.delete(meta, among(&batch.documents)).await?;
            let mut effects = Effects::new(&scope);
            let documents: Vec<&RawDocumentBuf> = batch.documents.iter().collect();
            effects.deleted(&scope, meta, &documents).await?;
            let (_, deferred) = effects.end(&scope).await?;
            Ok((batch, deleted, deferred))
        })
        .await?;
        level.read(batch);
        self.deleted(level, deleted);
        self.drain_after(deferred).await
    }

    /// Reads those again that had changed, if they still are to be deleted.
    async fn read_again(&mut self, level: &mut Level<'a>) -> Result<()> {
        self.leave(level);
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
            .scope
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
            self.look(level).await?;
            level.state = State::Before(0);
        }
        Ok(())
    }

    /// Leaves out the documents that the walk has reached already.
    fn enter(&mut self, level: &mut Level<'a>) {
        let collection = level.meta.collection;
        level
            .batch
            .retain(|document| self.on_the_way.insert((collection, Key::of_bson(&id(document)))));
    }

    fn leave(&mut self, level: &Level<'a>) {
        for document in &level.batch {
            self.on_the_way
                .remove(&(level.meta.collection, Key::of_bson(&id(document))));
        }
    }

    /// Applies the rule to documents that have got a reference to the batch since the first look.
    async fn treat_late(&mut self, level: &Level<'a>, rule: Rule<'a>) -> Result<Option<Level<'a>>> {
        if rule.on_delete() == OnDelete::Restrict {
            return Ok(None);
        }
        let Some(refers) = rule.holders(&level.batch) else {
            return Ok(None);
        };
        let fields = doc! { "_id": 1 };
        let found = self.scope.few(rule.edge.holder, refers, fields, 1).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let (gone, there) = self.gone(level, rule).await?;
        self.renew(rule, &there).await?;
        self.treat(level.meta, &gone, rule).await
    }

    /// Derives again what depends on this reference, where documents refer to deleted ones that another client has inserted
    /// again: a document that came before that has copies of the previous ones, and is not counted in the new ones.
    async fn renew<'b>(
        &mut self,
        rule: Rule<'a>,
        there: impl IntoIterator<Item = &'b RawDocumentBuf> + Clone,
    ) -> Result<()> {
        let holder = rule.edge.holder;
        if rule.edge.sync().is_none() && !self.scope.odm.graph().is_parent_edge(rule.edge) {
            return Ok(());
        }
        if let Some(refers) = rule.holders(there) {
            record_all(&self.scope.unvalidated(), holder, refers, self.token).await?;
            // A process whose models lack copies leaves the pending work to one that has them.
            if self.scope.odm.may_write(holder).is_ok() {
                self.deferred.add(holder, self.token);
            }
        }
        Ok(())
    }

    /// The documents of the deleted batch that are still missing, and those that were inserted again: a reference to an
    /// existing document is right.
    async fn gone(
        &self,
        level: &Level<'a>,
        rule: Rule<'a>,
    ) -> Result<(Vec<RawDocumentBuf>, Vec<RawDocumentBuf>)> {
        let by = rule.edge.by();
        let keys: Vec<Bson> = level.batch.iter().filter_map(|one| rule.key(one)).collect();
        let again = self
            .scope
            .every(level.meta, doc! { by: { "$in": keys } }, doc! { "_id": 1, by: 1 })
            .await?;
        let again: HashSet<Key> = again
            .iter()
            .filter_map(|one| rule.key(one))
            .map(|key| Key::of_bson(&key))
            .collect();
        let is_gone = |document: &&RawDocumentBuf| {
            rule.key(document)
                .is_some_and(|key| !again.contains(&Key::of_bson(&key)))
        };
        Ok(level
            .batch
            .iter()
            .cloned()
            .partition(|document| is_gone(&document)))
    }

    /// Applies the rule to the documents that refer to these; returns them as a level, where they are deleted too.
    async fn treat(
        &mut self,
        meta: &'static DocumentMeta,
        documents: &[RawDocumentBuf],
        rule: Rule<'a>,
    ) -> Result<Option<Level<'a>>> {
        match rule.on_delete() {
            OnDelete::Cascade => {
                let holder = rule.edge.holder;
                let Some(filter) = rule.holders(documents) else {
                    return Ok(None);
                };
                let below = self.level(holder, filter, false);
                if !self.deletes {
                    return Ok(below.rules.restricts.then_some(below));
                }
                if below.rules.is_empty() {
                    self.done.cascaded += self.scope.delete(holder, below.filter).await?;
                    return Ok(None);
                }
                Ok(Some(below))
            }
            // Two-way references are removed in one transaction with the documents.
            OnDelete::Nullify | OnDelete::Pull if self.deletes && (!rule.is_two_way() || self.is_alone()) => {
                self.detach(meta, documents, rule).await?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Removes the references to these documents from the documents that hold them.
    async fn detach(
        &mut self,
        meta: &'static DocumentMeta,
        documents: &[RawDocumentBuf],
        rule: Rule<'a>,
    ) -> Result<()> {
        let Some(refers) = rule.holders(documents) else {
            return Ok(());
        };
        let holder = rule.edge.holder;
        // A document that is about to be deleted itself keeps its references, or it would have changed.
        let own: HashSet<Key> = if is(holder, meta) {
            documents
                .iter()
                .map(|document| Key::of_bson(&id(document)))
                .collect()
        } else {
            HashSet::new()
        };
        let graph = self.scope.odm.graph();
        let (session, transactions) = (self.scope.session, self.transactions);
        let few = self.scope.odm.fan_out_options().in_transaction;
        // The documents themselves are the parents of their holders. In the application's transaction they are deleted with these;
        // else they stay for a moment, or after all.
        let is_parent = graph.is_parent_edge_of(rule.edge, meta);
        let may_stay = session.is_none() || graph.may_have_children(meta);
        let mut note = is_parent && may_stay;
        let change = rule.detachment(documents);
        let mut last = None;
        loop {
            let fields = Some(doc! { "_id": 1 });
            let batch = next_batch(&self.scope, holder, &refers, last.as_ref(), fields, BATCH).await?;
            let mut holders = ids(&batch.documents);
            holders.retain(|id| !own.contains(&Key::of_bson(id)));
            if !holders.is_empty() {
                let filter = all([doc! { "_id": { "$in": &holders } }, refers.clone()]);
                let mut detachment = Detachment {
                    rule,
                    holders,
                    filter,
                    change: change.clone(),
                    leaves_parents: is_parent && session.is_none(),
                };
                let together =
                    (transactions || session.is_some()) && detachment.is_followed_at_once(graph, few);
                detachment.leaves_parents &= together;
                if !detachment.leaves_parents && std::mem::take(&mut note) {
                    let parents = documents.iter().filter_map(|parent| rule.key(parent));
                    let parents = parents.map(|key| Key::of_bson(&key));
                    self.deferred
                        .note_parents(&self.scope, rule.edge, parents)
                        .await?;
                }
                let changed = self.detach_batch(&detachment, together).await?;
                self.count(rule, changed);
            }
            last = batch.documents.last().map(id);
            if !batch.more {
                return Ok(());
            }
        }
    }

    /// Detaches some holders: with the values that are derived of them in one transaction, or with pending work for these.
    async fn detach_batch(&mut self, detachment: &Detachment<'_>, together: bool) -> Result<u64> {
        let (scope, token) = (self.scope, self.token);
        let on_the_way = &self.on_the_way;
        let apply = async |scope: Scope<'_>| {
            let mut effects = Effects::of(together, token);
            let changed = detachment.apply(&scope, on_the_way, &mut effects).await?;
            let (_, deferred) = effects.end(&scope).await?;
            Ok((changed, deferred))
        };
        let (changed, deferred) = if together && scope.session.is_none() {
            session::take_turns(scope.odm, Vec::new(), async |session| {
                scope.trip(); // its commit
                apply(scope.within(&session)).await
            })
            .await?
        } else {
            apply(scope).await?
        };
        self.deferred.add_all(deferred);
        Ok(changed)
    }

    fn count(&mut self, rule: Rule<'a>, changed: u64) {
        match rule.counts_as() {
            Detached::Nullified => self.done.nullified += changed,
            Detached::Pulled => self.done.pulled += changed,
        }
    }

    /// Deletes the batch; afterwards it contains the documents that were deleted.
    async fn delete(&mut self, level: &mut Level<'a>) -> Result<()> {
        let unlinks: Vec<Rule<'a>> = if !self.is_alone() {
            two_way(&level.rules)
        } else {
            Vec::new()
        };
        let batch = std::mem::take(&mut level.batch);
        let mut gone: Vec<RawDocumentBuf> = Vec::with_capacity(batch.len());
        for part in parts(batch, &unlinks) {
            let mut erased = if !(self.transactions && (!unlinks.is_empty() || level.rules.derives)) {
                erase(self.scope, level, &part, (&unlinks, &self.on_the_way), false).await?
            } else {
                let (scope, level, part) = (self.scope, &*level, &part);
                let unlinks = (unlinks.as_slice(), &self.on_the_way);
                session::take_turns(scope.odm, Vec::new(), async |session| {
                    scope.trip(); // its commit
                    erase(scope.within(&session), level, part, unlinks, true).await
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
        level.batch = gone;
        Ok(())
    }

    fn deleted(&mut self, level: &Level<'_>, deleted: u64) {
        if level.root {
            self.done.deleted += deleted
        } else {
            self.done.cascaded += deleted
        }
    }

    /// Applies the work that a transaction of a deletion has left. If that fails, the documents after it are deleted and checked
    /// nevertheless.
    async fn drain_after(&mut self, deferred: DeferredWork) -> Result<()> {
        match self.scope.session {
            Some(session) => session.leave(deferred),
            None => {
                let drained = each::but_for_the_deployment(deferred.drain(&self.scope).await)?;
                self.failed = std::mem::replace(&mut self.failed, Ok(())).and(drained.map(drop));
            }
        }
        Ok(())
    }

    /// Fails if references restrict the deletion of the batch.
    async fn look(&self, level: &Level<'a>) -> Result<()> {
        let others = |rule: &Rule<'a>| self.others(level, &level.batch, *rule, false);
        match self.held(restricting(&level.rules, false), others).await? {
            Some(held) => Err(self.still_referenced(level, held).await?),
            None => Ok(()),
        }
    }

    /// Restores the documents of the deleted batch that new references restrict.
    async fn look_back(&mut self, level: &mut Level<'a>) -> Result<()> {
        let others = |rule: &Rule<'a>| self.others(level, &level.batch, *rule, true);
        if self
            .held(restricting(&level.rules, true), others)
            .await?
            .is_none()
        {
            return Ok(());
        }
        let (mut back, mut held) = (HashSet::new(), None);
        for rule in restricting(&level.rules, true) {
            let (gone, there) = self.gone(level, rule).await?;
            self.renew(rule, &there).await?;
            let Some(others) = self.others(level, &gone, rule, true) else {
                continue;
            };
            let (referred, found) = self.referred(rule, &others, &gone).await?;
            if !found.is_empty() {
                held = held.or(Some(Held { rule, others, found }));
            }
            back.extend(referred);
        }
        let Some(held) = held else {
            return Ok(());
        };
        let left_out = self.put_back(level, &back).await?;
        // Another client was faster.
        let twins = |one: &&RawDocumentBuf| left_out.contains(&Key::of_bson(&id(one)));
        if !left_out.is_empty() {
            for rule in level.rules.list.iter().copied() {
                self.renew(rule, level.batch.iter().filter(twins)).await?;
            }
        }
        let error = self.still_referenced(level, held).await?;
        let count = if level.root {
            &mut self.done.deleted
        } else {
            &mut self.done.cascaded
        };
        *count = count.saturating_sub(back.len() as u64);
        level.held = Some(error);
        // For the others, the rules are still applied to new references.
        level
            .batch
            .retain(|document| !back.contains(&Key::of_bson(&id(document))));
        for key in back {
            self.on_the_way.remove(&(level.meta.collection, key));
        }
        Ok(())
    }

    /// The references that restrict a deletion, by the first rule that has some.
    async fn held(
        &self,
        rules: impl Iterator<Item = Rule<'a>>,
        others: impl Fn(&Rule<'a>) -> Option<Document>,
    ) -> Result<Option<Held<'a>>> {
        let scope = self.scope;
        let looks: Vec<_> = rules
            .filter_map(|rule| Some((rule, others(&rule)?)))
            .map(|(rule, others)| {
                async move {
                    let found = scope
                        .few(rule.edge.holder, others.clone(), fields_of(rule), SAMPLE)
                        .await?;
                    Ok::<_, Error>(Held { rule, others, found })
                }
                .boxed()
            })
            .collect();
        // The operations of a transaction take turns.
        let at_once = if scope.session.is_some() { 1 } else { AT_ONCE };
        let looks: Vec<Held<'a>> = stream::iter(looks).buffered(at_once).try_collect().await?;
        Ok(looks.into_iter().find(|held| !held.found.is_empty()))
    }

    /// The condition of the documents that refer to these of the batch and are not deleted with it for the same reason.
    fn others(
        &self,
        level: &Level<'a>,
        documents: &[RawDocumentBuf],
        rule: Rule<'a>,
        after: bool,
    ) -> Option<Document> {
        let refers = rule.holders(documents)?;
        if !is(rule.edge.holder, level.meta) {
            return Some(refers);
        }
        // Afterwards only the documents that are still to be deleted.
        let own = match (after, &level.last) {
            (false, _) => vec![level.filter.clone()],
            (true, last) => {
                let changed = doc! { "_id": { "$in": &level.changed } };
                let coming = last.as_ref().filter(|_| level.more);
                let coming = coming.map(|last| all([level.filter.clone(), behind(level.meta, last)]));
                [changed].into_iter().chain(coming).collect()
            }
        };
        Some(all([refers, doc! { "$nor": own }]))
    }

    async fn still_referenced(&self, level: &Level<'a>, held: Held<'a>) -> Result<Error> {
        let Held { rule, others, found } = held;
        let referred = found
            .iter()
            .find_map(|holder| rule.referred(holder, &level.batch).next());
        let Some(referred) = referred.or(level.batch.first()) else {
            return Err(Error::Query {
                collection: level.meta.collection,
                message: "nothing was to be deleted".to_owned(),
            });
        };
        let one = std::slice::from_ref(referred);
        let sample: Vec<Bson> = found
            .iter()
            .filter(|holder| rule.referred(holder, one).next().is_some())
            .map(id)
            .collect();
        let count = match (level.batch.len(), found.len() < SAMPLE) {
            (1, true) => sample.len() as u64,
            _ => {
                let filter = all(rule.holders(one).into_iter().chain([others]));
                self.scope.count(rule.edge.holder, filter).await?
            }
        };
        Ok(Error::StillReferenced {
            collection: level.meta.collection,
            id: Box::new(id(referred)),
            by: rule.edge.holder.collection,
            field: rule.edge.path.clone(),
            count: count.max(1),
            sample,
        })
    }

    /// The ids of those of these documents that others refer to, with a few of the others.
    async fn referred(
        &self,
        rule: Rule<'a>,
        others: &Document,
        documents: &[RawDocumentBuf],
    ) -> Result<(HashSet<Key>, Vec<RawDocumentBuf>)> {
        let holder = rule.edge.holder;
        let (mut referred, mut sample) = (HashSet::new(), Vec::new());
        let mut last = None;
        loop {
            let fields = Some(fields_of(rule));
            let batch = next_batch(&self.scope, holder, others, last.as_ref(), fields, BATCH).await?;
            last = batch.documents.last().map(id);
            for found in &batch.documents {
                let which = rule.referred(found, documents);
                referred.extend(which.map(|document| Key::of_bson(&id(document))));
            }
            let room = SAMPLE.saturating_sub(sample.len());
            sample.extend(batch.documents.into_iter().take(room));
            if !batch.more {
                return Ok((referred, sample));
            }
        }
    }

    /// Inserts these documents of the batch again, as they were. Returns the ids of those that exist already.
    async fn put_back(&mut self, level: &Level<'a>, ids: &HashSet<Key>) -> Result<HashSet<Key>> {
        let mut back: Vec<RawDocumentBuf> = level
            .batch
            .iter()
            .filter(|document| ids.contains(&Key::of_bson(&id(document))))
            .cloned()
            .collect();
        if back.is_empty() {
            return Ok(HashSet::new());
        }
        let graph = self.scope.odm.graph();
        let mut effects = Effects::of(false, own_fields::Token::new());
        if graph.takes_part(level.meta) {
            for document in &mut back {
                *document = again(graph, level.meta, document, effects.later())?;
            }
            effects.deferred.add(level.meta, effects.later());
        }
        let left_out = self.scope.restore(level.meta, &back).await?;
        // Its links are restored.
        for rule in two_way(&level.rules) {
            let holder = rule.edge.holder;
            for document in &back {
                for (filter, mut change) in rule.attachments(document) {
                    effects.complete(graph, Rewrite::link(holder), &mut change.update);
                    self.scope.change(holder, filter, change).await?;
                }
            }
        }
        let drained = effects.deferred.drain(&self.scope).await;
        // The documents are restored, whatever is still pending: the caller needs the error that names the restricting
        // references.
        drain::log_undrained(each::but_for_the_deployment(drained)?);
        Ok(left_out)
    }

    /// The second look waits until the caller's transaction is committed: its snapshot shows no new references.
    fn postpone(&mut self, level: &Level<'a>) {
        let one_way = level.rules.list.iter().any(|rule| !rule.is_two_way());
        if one_way && !level.batch.is_empty() {
            self.later.push(Later {
                meta: level.meta,
                deleted: level.batch.clone(),
            });
        }
    }
}

/// Documents that restrict a deletion.
struct Held<'a> {
    rule: Rule<'a>,
    /// The condition that they were found by.
    others: Document,
    /// A few of them.
    found: Vec<RawDocumentBuf>,
}

/// The rules that restrict a deletion. After the deletion those of two-way references are left out: such a reference would have
/// changed the document itself, which then would not have been deleted.
fn restricting<'r, 'g>(rules: &'r Rules<'g>, after: bool) -> impl Iterator<Item = Rule<'g>> + use<'r, 'g> {
    rules
        .list
        .iter()
        .copied()
        .filter(move |rule| rule.on_delete() == OnDelete::Restrict && !(after && rule.is_two_way()))
}

/// The rules by which the references on the other side of links are removed.
fn two_way<'g>(rules: &Rules<'g>) -> Vec<Rule<'g>> {
    rules
        .list
        .iter()
        .copied()
        .filter(|rule| rule.is_two_way() && rule.detaches())
        .collect()
}

/// The fields to read of a holder, for its references.
fn fields_of(rule: Rule<'_>) -> Document {
    crate::graph::sync::fields_of([rule.edge])
}

/// Splits a batch by the maximum number of links for one transaction, and the maximum number of bytes for one condition.
fn parts(batch: Vec<RawDocumentBuf>, unlinks: &[Rule<'_>]) -> Vec<Vec<RawDocumentBuf>> {
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

struct Erased {
    deleted: u64,
    /// The ids of those that are still there: they have changed since they were read.
    there: HashSet<Key>,
    /// By rule.
    unlinked: Vec<u64>,
    /// The work that is left after the commit.
    deferred: DeferredWork,
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

/// References to deleted documents that are taken out of their holders.
struct Detachment<'g> {
    rule: Rule<'g>,
    /// The ids of the holders.
    holders: Vec<Bson>,
    /// The condition of those that still hold such a reference.
    filter: Document,
    change: Change,
    /// Whether values that are derived of the holders in the deleted documents are updated, too.
    leaves_parents: bool,
}

impl Detachment<'_> {
    /// Whether values that are derived of the holders are updated in the transaction that detaches them: those with `sync = atomic`, and
    /// others of few holders.
    fn is_followed_at_once(&self, graph: &Graph, few: usize) -> bool {
        let edge = self.rule.edge;
        let fields = changed(&self.change.update);
        let but = (!self.leaves_parents).then_some(edge);
        let are_read = |modes: fn(SyncMode) -> bool| {
            let mut fields = fields.iter();
            fields.any(|field| graph.is_read_in(modes, edge.holder, field, but))
        };
        are_read(|sync| sync == SyncMode::Atomic)
            || self.holders.len() <= few && are_read(|sync| is_atomic(sync, true))
    }

    /// Updates the holders, and returns the number of those that were changed. Links count in them and raise their versions; a
    /// holder that is about to be deleted itself keeps its version, which its deletion may require.
    async fn apply(&self, scope: &Scope<'_>, on_the_way: &OnTheWay, effects: &mut Effects) -> Result<u64> {
        let (graph, edge) = (scope.odm.graph(), self.rule.edge);
        let has_version = self.rule.is_two_way() && edge.holder.version().is_some();
        let is_going = |id: &Bson| on_the_way.contains(&(edge.holder.collection, Key::of_bson(id)));
        let holders = self.holders.iter().cloned();
        let (going, staying): (Vec<Bson>, Vec<Bson>) = holders.partition(|id| has_version && is_going(id));
        // Which parents a child has left is known from the child as it was, and so is all else that follows.
        let before = if self.leaves_parents {
            Beside::read(scope, edge.holder, &self.holders).await?
        } else {
            Beside::default()
        };
        let detachment = Rewrite::detachment(edge);
        let is_split = !going.is_empty();
        let mut done = 0;
        for (holders, rewrite) in [(going, detachment.keeping_version()), (staying, detachment)] {
            if holders.is_empty() {
                continue;
            }
            let mut change = self.change.clone();
            let fields = effects.complete(graph, rewrite, &mut change.update);
            let filter = if is_split {
                all([doc! { "_id": { "$in": &holders } }, self.filter.clone()])
            } else {
                self.filter.clone()
            };
            done += scope.change(edge.holder, filter, change).await?;
            if !self.leaves_parents {
                effects.pass_on(graph, edge.holder, ("_id", holders), fields);
            }
        }
        effects.written(scope, None, before).await?;
        Ok(done)
    }
}

/// Deletes documents if they are still as they were read, and removes the links to the deleted ones. Documents that were read
/// before the transaction began are read again in it if something is derived from them: another client may have changed or
/// deleted them since, with their effects.
async fn erase(
    scope: Scope<'_>,
    level: &Level<'_>,
    part: &[RawDocumentBuf],
    (unlinks, on_the_way): (&[Rule<'_>], &OnTheWay),
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
    let graph = scope.odm.graph();
    let own = if read_before && level.rules.derives {
        Some(
            scope
                .every(level.meta, filter.clone(), rules::needed(graph, level.meta))
                .await?,
        )
    } else {
        None
    };
    // Outside of a transaction, what is derived from them is derived without them before they are deleted.
    erased.deleted = if level.rules.derives && scope.session.is_none() {
        drain::delete_after_draining(&scope, level.meta, filter).await?
    } else {
        scope.delete(level.meta, filter).await?
    };
    if erased.deleted < part.len() as u64 {
        let left = scope.there(level.meta, &all_ids).await?;
        erased.there = left.iter().map(|document| Key::of_bson(&id(document))).collect();
    }
    let gone: Vec<&RawDocumentBuf> = part
        .iter()
        .filter(|document| !erased.there.contains(&Key::of_bson(&id(document))))
        .collect();
    let mut effects = Effects::new(&scope);
    for rule in unlinks {
        let changed = match rule.holders(gone.iter().copied()) {
            Some(filter) => {
                let named = rule.named(gone.iter().copied());
                let detachment = Detachment {
                    rule: *rule,
                    holders: named.iter().map(Key::to_bson).collect(),
                    filter,
                    change: rule.detachment(gone.iter().copied()),
                    leaves_parents: false,
                };
                detachment.apply(&scope, on_the_way, &mut effects).await?
            }
            None => 0,
        };
        erased.unlinked.push(changed);
    }
    if scope.session.is_some() {
        if level.rules.derives {
            let deleted = own.as_ref().map_or(gone, |own| own.iter().collect());
            effects.deleted(&scope, level.meta, &deleted).await?;
        }
        (_, erased.deferred) = effects.end(&scope).await?;
    }
    Ok(erased)
}
