//! Writes of documents with hooks: a transaction, in which the documents are compared before and after the operation, and the hooks called.
//!
//! The operation itself is executed as every other, within the caller's transaction or one of its own. Around it stands this:
//!
//! 1. The documents that it may change are read: those that it names by their ids, and those that match its conditions. Deletions read the
//!    documents that they delete, and give them back (`Done::gone`).
//! 2. It is executed: `dispatch`, which is the way of all operations.
//! 3. The documents are read again, and compared. The hooks are called with those that have changed (`engine/hooks/call.rs`).
//! 4. The hooks that follow the commit are left for the time after it.
//!
//! The error of a hook in the transaction rolls all of it back: also the caller's, whatever the caller does with the error.

pub(crate) mod call;

use crate::engine::hooks::call::{HandOver, HookedDocument};
use crate::engine::parts;
use crate::engine::write::attempt::MAX_DOCS_PER_TX;
use crate::engine::write::documents;
use crate::engine::write::documents::KeysetPages;
use crate::graph::is;
use crate::model::document::DocumentMeta;
use crate::model::key;
use crate::model::key::Key;
use crate::plan::modes::{belong_together, is_bare, named_by_ids};
use crate::plan::operation::{Batching, DeleteWrite, Write, WriteKind, Writes};
use crate::plan::operators::implied::demanded;
use crate::plan::outcome::{Attempt, Done, Gone, Outcome};
use crate::store::batch::{DocumentBatch, id};
use crate::store::cx::Cx;
use crate::store::decode::not_encoded;
use crate::store::packed::Packed;
use crate::store::queue::QueueKey;
use crate::store::session::Session;
use crate::store::transaction;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

/// Executes the writes of an operation in a given context.
pub(super) type Dispatch = for<'e> fn(Cx<'e>, Batching, Writes) -> BoxFuture<'e, Result<Done>>;

/// Whether writes call hooks.
pub(super) fn are_called(odm: &Odm, writes: &Writes) -> bool {
    let calls = |write: &Write| match &write.what {
        WriteKind::Delete(_) => call::is_reached(odm.graph(), write.meta),
        WriteKind::Update(update) => write.meta.has_hooks() && !update.is_empty(),
        WriteKind::Insert(_) | WriteKind::UpdateMany(_) | WriteKind::Replace(_) => write.meta.has_hooks(),
    };
    match writes {
        Writes::One(write) => calls(write),
        Writes::Each(writes) => writes.iter().any(calls),
        Writes::Packed { meta, .. } => meta.has_hooks(),
    }
}

/// Refuses documents with hooks on a deployment without transactions.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) async fn need_transactions(odm: &Odm) -> Result<()> {
    if odm.has_transactions().await? {
        return Ok(());
    }
    Err(Error::Unsupported {
        operation: "a write of documents with hooks (`before_write`, `after_write`)",
        needs: "a replica set or a sharded cluster",
        is: odm.server().await?.to_string(),
    })
}

/// Executes writes that call hooks.
pub(super) async fn execute(
    cx: Cx<'_>,
    batching: Batching,
    mut writes: Writes,
    dispatch: Dispatch,
) -> Result<Outcome> {
    let hooked = Hooked {
        cx,
        batching,
        dispatch,
    };
    let each = match &mut writes {
        Writes::One(write) => std::slice::from_mut(write),
        Writes::Each(writes) => writes.as_mut_slice(),
        Writes::Packed { .. } => &mut [],
    };
    for write in each.iter_mut().filter(|write| write.has_collation()) {
        documents::find_by_collation(cx, write).boxed().await?;
    }
    if cx.odm.graph().has_routings() {
        for write in each.iter() {
            write
                .condition()
                .map(|condition| cx.routed(write.meta, condition));
        }
    }
    if let Some(session) = cx.session {
        let collection = writes.collection();
        let made = hooked.within(session, writes, None).await?;
        return Ok(made.into_done(collection)?.outcome);
    }
    need_transactions(cx.odm).await?;
    match writes {
        Writes::Packed {
            meta,
            documents,
            give_back,
        } => hooked.inserts(meta, documents, give_back).await,
        Writes::One(Write {
            at,
            meta,
            what: WriteKind::UpdateMany(update),
        }) => {
            let run = |update, limit| {
                let what = WriteKind::UpdateMany(update);
                hooked.in_transaction(Writes::One(Write { at, meta, what }), limit)
            };
            let done = parts::update_by(cx, meta, update, &run).await?;
            Ok(done.outcome)
        }
        Writes::One(Write {
            at,
            meta,
            what: WriteKind::Delete(delete),
        }) if delete.one.is_none() && demanded(&delete.filter, "_id").is_none() => {
            hooked.delete(at, meta, *delete).await
        }
        writes => hooked.at_once(writes).await,
    }
}

#[derive(Clone, Copy)]
struct Hooked<'e> {
    cx: Cx<'e>,
    batching: Batching,
    dispatch: Dispatch,
}

impl<'e> Hooked<'e> {
    /// Inserts documents, in parts of what one transaction takes, unless they may refer to each other.
    async fn inserts(
        self,
        meta: &'static DocumentMeta,
        documents: Packed,
        give_back: bool,
    ) -> Result<Outcome> {
        let encoded = |source| not_encoded(meta, source);
        let inserted: Vec<RawDocumentBuf> = documents
            .documents()
            .map(|document| document.map(ToOwned::to_owned).map_err(encoded))
            .collect::<Result<_>>()?;
        let most = if belong_together(self.cx.odm, meta, inserted.iter()) {
            usize::MAX
        } else {
            MAX_DOCS_PER_TX
        };
        let parts = documents.split(most).into_iter().map(|documents| {
            let at = documents.positions().next().unwrap_or_default();
            let part = Writes::Packed {
                meta,
                documents,
                give_back,
            };
            (at, part)
        });
        let ordered = self.batching.is_ordered();
        let run = |part| self.at_once(part).boxed();
        parts::inserted_by(self.batching.refused(Vec::new()), parts, &run, |_| ordered).await
    }

    /// Deletes the documents that match a condition, in parts of what one transaction takes.
    async fn delete(self, at: usize, meta: &'static DocumentMeta, delete: DeleteWrite) -> Result<Outcome> {
        let mut parts = KeysetPages::open(self.cx, meta, delete.filter).await?;
        let mut all = Outcome::default();
        while let Some(condition) = parts.next().await? {
            let part = DeleteWrite {
                removes: delete.removes,
                ..DeleteWrite::many(condition)
            };
            let what = WriteKind::Delete(Box::new(part));
            let part = Writes::One(Write { at, meta, what });
            match self.at_once(part).await {
                Ok(made) => all.add(made),
                Err(error) if all.has_begun() => return Err(error.after_a_part(meta.collection)),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The same however many documents they are for.
    async fn at_once(self, writes: Writes) -> Result<Outcome> {
        let collection = writes.collection();
        let made = self.in_transaction(writes, None).await?;
        Ok(made.into_done(collection)?.outcome)
    }

    /// Executes writes in a transaction of their own: all of them or none. The hooks that follow the commit are called when it has given
    /// up its turn at the documents: they may write them.
    fn in_transaction(self, writes: Writes, limit: Option<usize>) -> BoxFuture<'e, Result<Attempt>> {
        let cx = self.cx;
        async move {
            let committed = HandOver::default();
            let work = |session: Session| {
                let (writes, committed) = (writes.clone(), committed.clone());
                async move {
                    session.hand_over(committed);
                    self.within(&session, writes, limit).await
                }
            };
            let made = transaction::take_turns(cx, turns(&writes), work).await;
            let committed = std::mem::take(&mut *committed.lock().unwrap_or_else(PoisonError::into_inner));
            call::call_after_commit(cx.odm, committed).await;
            match made {
                // Nothing is left of the writes that were not refused.
                Err(Error::Bulk { errors, .. }) => Err(Error::Bulk {
                    errors,
                    done: Box::default(),
                }),
                made => made,
            }
        }
        .boxed()
    }

    /// Executes writes in a transaction, and calls the hooks.
    fn within<'s>(
        self,
        session: &'s Session,
        writes: Writes,
        limit: Option<usize>,
    ) -> BoxFuture<'s, Result<Attempt>>
    where
        'e: 's,
    {
        async move {
            let unfinished = session.unfinished();
            let made = {
                let _turn = session.compared().await;
                self.compared(session, writes, limit).await
            };
            let made = match made {
                Ok((made, changed)) => self.called(session, changed).await.map(|()| made),
                Err(error) => Err(error),
            };
            unfinished.complete();
            made
        }
        .boxed()
    }

    /// Calls the hooks with the changed documents.
    async fn called(self, session: &Session, changed: Vec<HookedDocument>) -> Result<()> {
        if let Err(error) = call::call_within(self.cx.odm, session, &changed).await {
            session.spoil(&error);
            // The hook may have made an error of its own out of one after which the transaction is run again.
            if session.state().spoiled.as_ref().is_some_and(|(_, again)| *again) {
                session.raced();
            }
            return Err(error);
        }
        let mut after = changed;
        after.retain(|document| call::follows_commit(document.meta));
        if !after.is_empty() {
            session.call_after_commit(after);
        }
        Ok(())
    }

    /// Executes writes in a transaction, and gives the documents with hooks that they have changed. Nothing is written where a condition
    /// matches more documents than the limit.
    async fn compared(
        self,
        session: &Session,
        writes: Writes,
        limit: Option<usize>,
    ) -> Result<(Attempt, Vec<HookedDocument>)> {
        let cx = self.cx.within(session);
        let mut images = HookedImages {
            deletes: deletes(&writes),
            ..HookedImages::default()
        };
        let steps = steps(writes, self.batching);
        let is_one = steps.len() == 1;
        let mut outcome = self.batching.refused(Vec::new());
        let mut has_begun = false;
        for (writes, batching) in steps {
            let one = match &writes {
                Writes::One(write) => Some((write.at, write.meta)),
                Writes::Each(_) | Writes::Packed { .. } => None,
            };
            let step = async {
                if !images.read(&cx, &writes, limit).await? {
                    return Ok(None);
                }
                (self.dispatch)(cx, batching, writes).await.map(Some)
            };
            let made = match step.await {
                Ok(Some(made)) => made,
                Ok(None) => return Ok((Attempt::TooMany, Vec::new())),
                Err(error) => {
                    // The writes of the steps before must not be committed without a call of their hooks.
                    if has_begun {
                        session.spoil(&error);
                    }
                    let is_of_bulk = self.batching != batching;
                    return Err(match one.filter(|_| is_of_bulk) {
                        Some((at, _)) => of_bulk(at, error),
                        None => error,
                    });
                }
            };
            has_begun = true;
            let upserted = one.map(|(_, meta)| meta).zip(made.outcome.upserted.as_ref());
            images.add(made.gone, upserted.filter(|(meta, _)| meta.has_hooks()));
            if is_one && self.batching == batching {
                outcome = made.outcome;
            } else {
                outcome.add(made.outcome);
            }
            if outcome.refusals.end_operation() {
                break;
            }
        }
        // A refusal of the server has ended the transaction, so that nothing can be read in it.
        let is_own_bulk = self.batching.is_bulk() && self.cx.session.is_none();
        if !outcome.refusals.is_empty() && (is_own_bulk || session.state().spoiled.is_some()) {
            return Err(Error::Bulk {
                errors: std::mem::take(&mut outcome.refusals.errors),
                done: Box::new(outcome.into()),
            });
        }
        let changed = images.changed(&cx, &outcome).await;
        if let Err(error) = &changed {
            session.spoil(error);
        }
        Ok((Attempt::done(outcome), changed?))
    }
}

/// The error of a write of a bulk that is executed by itself.
fn of_bulk(at: usize, error: Error) -> Error {
    Error::Bulk {
        errors: vec![(at, error)],
        done: Box::default(),
    }
}

/// Whether some of these writes are deletions.
fn deletes(writes: &Writes) -> bool {
    match writes {
        Writes::Each(writes) => writes
            .iter()
            .any(|write| matches!(write.what, WriteKind::Delete(_))),
        Writes::One(_) | Writes::Packed { .. } => false,
    }
}

/// The documents that writes name by their ids.
fn turns(writes: &Writes) -> Vec<QueueKey> {
    match writes {
        Writes::One(write) => named_by_ids(std::slice::from_ref(write)),
        Writes::Each(writes) => named_by_ids(writes),
        Writes::Packed { .. } => Vec::new(),
    }
}

/// Splits a bulk where a condition of its writes may match documents that the writes before it have changed, and where an upsert has to
/// say what it has inserted.
fn steps(writes: Writes, batching: Batching) -> Vec<(Writes, Batching)> {
    let Writes::Each(writes) = writes else {
        return vec![(writes, batching)];
    };
    let mut steps = Vec::new();
    let mut open: Vec<Write> = Vec::new();
    for write in writes {
        let matches = write.meta.has_hooks() && write.is_update_of_many();
        if matches && !open.is_empty() {
            steps.push((Writes::Each(std::mem::take(&mut open)), batching));
        }
        if matches && write.is_upsert() {
            steps.push((Writes::One(write), Batching::Single));
        } else {
            open.push(write);
        }
    }
    if !open.is_empty() {
        steps.push((Writes::Each(open), batching));
    }
    steps
}

/// The documents with hooks of an operation, of one collection.
struct HookedCollection {
    meta: &'static DocumentMeta,
    /// As they were before the first write of them.
    before: Vec<RawDocumentBuf>,
    /// The ids of these, and those of which there was no document.
    known: HashSet<Key>,
    /// Those that may be there afterwards.
    asked: HashSet<Key>,
    /// Inserted documents that are stored as they are here.
    inserted: Vec<RawDocumentBuf>,
}

impl HookedCollection {
    fn new(meta: &'static DocumentMeta) -> HookedCollection {
        HookedCollection {
            meta,
            before: Vec::new(),
            known: HashSet::new(),
            asked: HashSet::new(),
            inserted: Vec::new(),
        }
    }

    /// Documents that were there before the first write of them.
    fn found(&mut self, documents: impl IntoIterator<Item = RawDocumentBuf>) {
        for document in documents {
            if self.known.insert(id(&document)) {
                self.before.push(document);
            }
        }
    }

    /// Reads those that these writes may change. Gives `false` where a condition matches more than `most`.
    async fn read(
        &mut self,
        cx: &Cx<'_>,
        writes: &[&Write],
        (may_be_there, most): (bool, Option<usize>),
    ) -> Result<bool> {
        let mut named: HashSet<Key> = HashSet::new();
        for write in writes {
            match &write.what {
                WriteKind::Insert(document) if may_be_there => drop(named.insert(id(document))),
                WriteKind::Insert(document) => {
                    self.known.insert(id(document));
                    self.asked.insert(id(document));
                }
                WriteKind::Update(_) | WriteKind::Replace(_) => {
                    let one = write.changed_id().or_else(|| write.upserted_id());
                    named.extend(one.map(Key::of_bson));
                }
                WriteKind::UpdateMany(update) => {
                    let matching = update.condition.clone();
                    let found = match most {
                        Some(most) => cx.some(self.meta, matching, doc! {}, most + 1).await?,
                        None => DocumentBatch {
                            documents: cx.every(self.meta, matching, doc! {}).await?,
                            more: false,
                        },
                    };
                    if found.more || most.is_some_and(|most| found.documents.len() > most) {
                        return Ok(false);
                    }
                    self.asked.extend(found.documents.iter().map(id));
                    self.found(found.documents);
                }
                // They give back what they delete.
                WriteKind::Delete(_) => {}
            }
        }
        let unknown: HashSet<Key> = named.difference(&self.known).cloned().collect();
        let found = by_ids(cx, self.meta, &unknown).await?;
        self.asked.extend(found.iter().map(id));
        self.found(found);
        self.known.extend(unknown);
        self.asked.extend(named);
        Ok(true)
    }

    /// Those that have changed.
    async fn changed(self, cx: &Cx<'_>) -> Result<Vec<HookedDocument>> {
        let meta = self.meta;
        let found = by_ids(cx, meta, &self.asked).await?;
        let found = found.into_iter().map(|document| (id(&document), document));
        let mut after: HashMap<Key, RawDocumentBuf> = found.collect();
        let changed = |(before, after)| HookedDocument { meta, before, after };
        let were_there = self.before.into_iter().map(|document| {
            let after = after.remove(&id(&document));
            (Some(document), after)
        });
        let mut all: Vec<HookedDocument> = were_there.map(changed).collect();
        let mut new: Vec<RawDocumentBuf> = after.into_values().chain(self.inserted).collect();
        new.sort_by_cached_key(id);
        all.extend(new.into_iter().map(|document| changed((None, Some(document)))));
        all.retain(HookedDocument::is_changed);
        Ok(all)
    }
}

async fn by_ids(cx: &Cx<'_>, meta: &'static DocumentMeta, ids: &HashSet<Key>) -> Result<Vec<RawDocumentBuf>> {
    let mut all = Vec::with_capacity(ids.len());
    for ids in key::chunks(ids) {
        let named = doc! { "_id": { "$in": ids } };
        all.extend(cx.every(meta, named, doc! {}).await?);
    }
    Ok(all)
}

/// The documents with hooks of an operation.
#[derive(Default)]
struct HookedImages {
    collections: Vec<HookedCollection>,
    /// Whether the operation deletes documents, in the place of which it may insert others.
    deletes: bool,
}

impl HookedImages {
    #[allow(clippy::indexing_slicing)]
    fn entry(&mut self, meta: &'static DocumentMeta) -> &mut HookedCollection {
        let known = self.collections.iter().position(|known| is(known.meta, meta));
        let position = known.unwrap_or_else(|| {
            self.collections.push(HookedCollection::new(meta));
            self.collections.len() - 1
        });
        &mut self.collections[position]
    }

    /// Reads the documents that these writes may change. Gives `false` where a condition matches more than `most`.
    async fn read(&mut self, cx: &Cx<'_>, writes: &Writes, most: Option<usize>) -> Result<bool> {
        let single;
        let writes = match writes {
            Writes::Packed { meta, documents, .. } => {
                return self.insert(cx.odm, meta, documents).map(|()| true);
            }
            Writes::One(write) => {
                if let WriteKind::Insert(document) = &write.what
                    && write.meta.has_hooks()
                    && is_bare(cx.odm, write.meta)?
                {
                    self.entry(write.meta).inserted.push(document.clone());
                    return Ok(true);
                }
                single = [write];
                single.as_slice()
            }
            Writes::Each(writes) => &writes.iter().collect::<Vec<_>>(),
        };
        let mut metas: Vec<&'static DocumentMeta> = Vec::new();
        for write in writes.iter().filter(|write| write.meta.has_hooks()) {
            if !metas.iter().any(|meta| is(meta, write.meta)) {
                metas.push(write.meta);
            }
        }
        let with = (self.deletes, most);
        for meta in metas {
            let own: Vec<&Write> = writes
                .iter()
                .filter(|write| is(write.meta, meta))
                .copied()
                .collect();
            if !self.entry(meta).read(cx, &own, with).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes documents that are inserted together. Those that the library neither checks nor fills in are stored as they are given.
    fn insert(&mut self, odm: &Odm, meta: &'static DocumentMeta, documents: &Packed) -> Result<()> {
        let is_as_given = is_bare(odm, meta)?;
        let of = self.entry(meta);
        for document in documents.documents() {
            let document = document.map_err(|source| not_encoded(meta, source))?;
            if is_as_given {
                of.inserted.push(document.to_owned());
            } else {
                of.asked.insert(id(document));
            }
        }
        Ok(())
    }

    /// Adds the documents that a step has deleted, and the one that its upsert has inserted.
    fn add(&mut self, gone: Gone, upserted: Option<(&'static DocumentMeta, &Bson)>) {
        for (meta, document) in gone {
            self.entry(meta).found([document]);
        }
        if let Some((meta, id)) = upserted {
            let of = self.entry(meta);
            of.known.insert(Key::of_bson(id));
            of.asked.insert(Key::of_bson(id));
        }
    }

    /// Reads them again. Gives those that have changed.
    async fn changed(self, cx: &Cx<'_>, outcome: &Outcome) -> Result<Vec<HookedDocument>> {
        let mut all = Vec::new();
        for mut of in self.collections {
            if !outcome.refusals.is_empty() {
                // Some of them were refused.
                of.asked
                    .extend(of.inserted.drain(..).map(|document| id(&document)));
            }
            all.extend(of.changed(cx).await?);
        }
        Ok(all)
    }
}
