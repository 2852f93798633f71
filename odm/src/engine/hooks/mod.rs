//! Writes of documents with hooks: a transaction, in which the documents are compared before and after the operation, and the hooks called.
//!
//! The operation itself is executed as every other, within the caller's transaction or one of its own. Around it stands this:
//!
//! 1. The documents that it may change are read: those that it names by their ids, and those that match its conditions. Deletions read the
//!    documents that they delete, and give them back (`Outcome::gone`).
//! 2. It is executed: `dispatch`, which is the way of all operations.
//! 3. The documents are read again, and compared. The hooks are called with those that have changed (`engine/hooks/call.rs`).
//! 4. The hooks that follow the commit are left for the time after it.
//!
//! The error of a hook in the transaction rolls all of it back: also the caller's, whatever the caller does with the error.

pub(crate) mod call;

use crate::engine::delete::walk::Gone;
use crate::engine::hooks::call::{HandOver, HookedDocument};
use crate::engine::parts;
use crate::engine::write::documents;
use crate::engine::write::documents::Parts;
use crate::engine::write::execution::Execution;
use crate::engine::write::obligations::{MAX_DOCS_PER_TX, belong_together, is_unrelated};
use crate::graph::is;
use crate::model::document::DocumentMeta;
use crate::model::key;
use crate::model::key::Key;
use crate::plan::operation::Delete;
use crate::plan::operation::{Sent, What, Write, Writes};
use crate::plan::operators::implied::demanded;
use crate::plan::outcome::Outcome;
use crate::store::batch::{Batch, id};
use crate::store::decode::not_encoded;
use crate::store::packed::Packed;
use crate::store::queue::QueueKey;
use crate::store::scope::Scope;
use crate::store::session::Shared;
use crate::store::transaction;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// Executes the writes of an operation in a given context.
pub(super) type Dispatch = for<'e> fn(Execution<'e>, Writes) -> BoxFuture<'e, Result<Outcome>>;

/// Whether writes call hooks.
pub(super) fn concern(odm: &Odm, writes: &Writes) -> bool {
    let calls = |write: &Write| match &write.what {
        What::Delete(_) => call::is_reached(odm.graph(), write.meta),
        What::Update(update) => write.meta.has_hooks() && !update.is_empty(),
        What::Insert(_) | What::UpdateMany(_) | What::Replace(_) => write.meta.has_hooks(),
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
    execution: Execution<'_>,
    mut writes: Writes,
    dispatch: Dispatch,
) -> Result<Outcome> {
    let hooked = Hooked { execution, dispatch };
    let each = match &mut writes {
        Writes::One(write) => std::slice::from_mut(write),
        Writes::Each(writes) => writes.as_mut_slice(),
        Writes::Packed { .. } => &mut [],
    };
    for write in each.iter_mut().filter(|write| write.has_collation()) {
        documents::find_by_collation(execution, write).boxed().await?;
    }
    if let Some(session) = execution.session {
        return hooked.within(session, writes, None).await;
    }
    need_transactions(execution.odm).await?;
    match writes {
        Writes::Packed {
            meta,
            documents,
            give_back,
        } => hooked.inserts(meta, documents, give_back).await,
        Writes::One(Write {
            at,
            meta,
            what: What::UpdateMany(update),
        }) => {
            let run = |update, in_parts: bool| {
                let what = What::UpdateMany(update);
                let one = Writes::One(Write { at, meta, what });
                hooked.in_transaction(one, in_parts.then_some(MAX_DOCS_PER_TX))
            };
            parts::update_by(execution, meta, update, &run).await
        }
        Writes::One(Write {
            at,
            meta,
            what: What::Delete(delete),
        }) if delete.one.is_none() && demanded(&delete.filter, "_id").is_none() => {
            hooked.delete(at, meta, *delete).await
        }
        writes => hooked.in_transaction(writes, None).await,
    }
}

#[derive(Clone, Copy)]
struct Hooked<'e> {
    execution: Execution<'e>,
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
        let most = if belong_together(self.execution.odm, meta, inserted.iter()) {
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
        let Execution { ordered, .. } = self.execution;
        let run = |part| self.in_transaction(part, None);
        parts::inserted_by(self.execution.refused(Vec::new()), parts, &run, |_| ordered).await
    }

    /// Deletes the documents that match a condition, in parts of what one transaction takes.
    async fn delete(self, at: usize, meta: &'static DocumentMeta, delete: Delete) -> Result<Outcome> {
        let Execution { odm, trace, .. } = self.execution;
        let mut parts = Parts::of(odm, trace, meta, delete.filter).await?;
        let mut all = Outcome::default();
        while let Some(condition) = parts.next().await? {
            let part = Delete {
                removes: delete.removes,
                ..Delete::many(condition)
            };
            let what = What::Delete(Box::new(part));
            let part = Writes::One(Write { at, meta, what });
            match self.in_transaction(part, None).await {
                Ok(made) => all.add(made),
                Err(error) if all.has_begun() => return Err(error.after_a_part(meta.collection)),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Executes writes in a transaction of their own: all of them or none. The hooks that follow the commit are called when it has given
    /// up its turn at the documents: they may write them.
    fn in_transaction(self, writes: Writes, most: Option<usize>) -> BoxFuture<'e, Result<Outcome>> {
        let Execution { odm, trace, .. } = self.execution;
        async move {
            let committed = HandOver::default();
            let work = |session: Shared| {
                let (writes, committed) = (writes.clone(), committed.clone());
                async move {
                    session.hand_over(committed);
                    self.within(&session, writes, most).await
                }
            };
            let made = transaction::take_turns(odm, named(&writes), work).await;
            trace.more(1);
            let committed = std::mem::take(&mut *committed.lock().unwrap_or_else(PoisonError::into_inner));
            call::call_after_commit(odm, committed).await;
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
        session: &'s Shared,
        writes: Writes,
        most: Option<usize>,
    ) -> BoxFuture<'s, Result<Outcome>>
    where
        'e: 's,
    {
        async move {
            let unfinished = session.unfinished();
            let made = {
                let _turn = session.compared().await;
                self.compared(session, writes, most).await
            };
            let made = match made {
                Ok((outcome, changed)) => self.called(session, changed).await.map(|()| outcome),
                Err(error) => Err(error),
            };
            unfinished.end();
            made
        }
        .boxed()
    }

    /// Calls the hooks with the changed documents.
    async fn called(self, session: &Shared, changed: Vec<HookedDocument>) -> Result<()> {
        if let Err(error) = call::call_within(self.execution.odm, session, &changed).await {
            session.spoil(&error);
            // The hook may have made an error of its own out of one after which the transaction is run again.
            if session.end().spoiled.as_ref().is_some_and(|(_, again)| *again) {
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
    /// matches more than `most` documents.
    async fn compared(
        self,
        session: &Shared,
        writes: Writes,
        most: Option<usize>,
    ) -> Result<(Outcome, Vec<HookedDocument>)> {
        let Execution { odm, trace, .. } = self.execution;
        let trips = AtomicU64::new(0);
        let scope = Scope::new(odm, Some(session), &trips);
        let mut images = HookedImages {
            deletes: deletes(&writes),
            ..HookedImages::default()
        };
        let steps = steps(writes, self.execution.sent);
        let is_one = steps.len() == 1;
        let mut outcome = self.execution.refused(Vec::new());
        let mut has_begun = false;
        for (writes, sent) in steps {
            let one = match &writes {
                Writes::One(write) => Some((write.at, write.meta)),
                Writes::Each(_) | Writes::Packed { .. } => None,
            };
            let step = async {
                if !images.look(&scope, &writes, most).await? {
                    return Ok(Outcome::too_many());
                }
                let execution = Execution {
                    session: Some(session),
                    sent,
                    ..self.execution
                };
                (self.dispatch)(execution, writes).await
            };
            let mut made = match step.await {
                Ok(made) => made,
                Err(error) => {
                    // The writes of the steps before must not be committed without a call of their hooks.
                    if has_begun {
                        session.spoil(&error);
                    }
                    let is_of_bulk = self.execution.sent != sent;
                    return Err(match one.filter(|_| is_of_bulk) {
                        Some((at, _)) => of_bulk(at, error),
                        None => error,
                    });
                }
            };
            has_begun = true;
            let upserted = one.map(|(_, meta)| meta).zip(made.upserted.as_ref());
            images.add(
                std::mem::take(&mut made.gone),
                upserted.filter(|(meta, _)| meta.has_hooks()),
            );
            if is_one && self.execution.sent == sent {
                outcome = made;
            } else {
                outcome.add(made);
            }
            if outcome.ordered && !outcome.errors.is_empty() {
                break;
            }
        }
        // A refusal of the server has ended the transaction, so that nothing can be read in it.
        let is_own_bulk =
            matches!(self.execution.sent, Sent::Bulk { .. }) && self.execution.session.is_none();
        if !outcome.errors.is_empty() && (is_own_bulk || session.end().spoiled.is_some()) {
            return Err(Error::Bulk {
                errors: std::mem::take(&mut outcome.errors),
                done: Box::new(outcome.into()),
            });
        }
        let changed = images.changed(&scope, &outcome).await;
        if let Err(error) = &changed {
            session.spoil(error);
        }
        trace.more(trips.load(Ordering::Relaxed));
        Ok((outcome, changed?))
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
        Writes::Each(writes) => writes.iter().any(|write| matches!(write.what, What::Delete(_))),
        Writes::One(_) | Writes::Packed { .. } => false,
    }
}

/// The documents that writes name by their ids: transactions of this process that write one of them take turns.
fn named(writes: &Writes) -> Vec<QueueKey> {
    let writes = match writes {
        Writes::One(write) => std::slice::from_ref(write),
        Writes::Each(writes) => writes,
        Writes::Packed { .. } => &[],
    };
    let named = writes.iter().filter_map(|write| {
        let one = write.changed().and_then(|(_, id)| id);
        Some(QueueKey {
            collection: write.meta.collection,
            by: "_id",
            key: Key::of_bson(one.or_else(|| write.upserted_id())?),
        })
    });
    named.collect()
}

/// Splits a bulk where a condition of its writes may match documents that the writes before it have changed, and where an upsert has to
/// say what it has inserted.
fn steps(writes: Writes, sent: Sent) -> Vec<(Writes, Sent)> {
    let Writes::Each(writes) = writes else {
        return vec![(writes, sent)];
    };
    let mut steps = Vec::new();
    let mut open: Vec<Write> = Vec::new();
    for write in writes {
        let matches = write.meta.has_hooks() && write.is_update_of_many();
        if matches && !open.is_empty() {
            steps.push((Writes::Each(std::mem::take(&mut open)), sent));
        }
        if matches && write.is_upsert() {
            steps.push((Writes::One(write), Sent::Alone));
        } else {
            open.push(write);
        }
    }
    if !open.is_empty() {
        steps.push((Writes::Each(open), sent));
    }
    steps
}

/// The documents with hooks of an operation, of one collection.
struct Documents {
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

impl Documents {
    fn new(meta: &'static DocumentMeta) -> Documents {
        Documents {
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
    async fn look(
        &mut self,
        scope: &Scope<'_>,
        writes: &[&Write],
        (may_be_there, most): (bool, Option<usize>),
    ) -> Result<bool> {
        let mut named: HashSet<Key> = HashSet::new();
        for write in writes {
            match &write.what {
                What::Insert(document) if may_be_there => drop(named.insert(id(document))),
                What::Insert(document) => {
                    self.known.insert(id(document));
                    self.asked.insert(id(document));
                }
                What::Update(_) | What::Replace(_) => {
                    let one = write
                        .changed()
                        .and_then(|(_, id)| id)
                        .or_else(|| write.upserted_id());
                    named.extend(one.map(Key::of_bson));
                }
                What::UpdateMany(update) => {
                    let matching = update.condition.clone();
                    let found = match most {
                        Some(most) => scope.some(self.meta, matching, doc! {}, most + 1).await?,
                        None => Batch {
                            documents: scope.every(self.meta, matching, doc! {}).await?,
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
                What::Delete(_) => {}
            }
        }
        let unknown: HashSet<Key> = named.difference(&self.known).cloned().collect();
        let found = by_ids(scope, self.meta, &unknown).await?;
        self.asked.extend(found.iter().map(id));
        self.found(found);
        self.known.extend(unknown);
        self.asked.extend(named);
        Ok(true)
    }

    /// Those that have changed.
    async fn changed(self, scope: &Scope<'_>) -> Result<Vec<HookedDocument>> {
        let meta = self.meta;
        let found = by_ids(scope, meta, &self.asked).await?;
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

async fn by_ids(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &HashSet<Key>,
) -> Result<Vec<RawDocumentBuf>> {
    let mut all = Vec::with_capacity(ids.len());
    for ids in key::chunks(ids) {
        let named = doc! { "_id": { "$in": ids } };
        all.extend(scope.every(meta, named, doc! {}).await?);
    }
    Ok(all)
}

/// The documents with hooks of an operation.
#[derive(Default)]
struct HookedImages {
    collections: Vec<Documents>,
    /// Whether the operation deletes documents, in the place of which it may insert others.
    deletes: bool,
}

impl HookedImages {
    #[allow(clippy::indexing_slicing)]
    fn entry(&mut self, meta: &'static DocumentMeta) -> &mut Documents {
        let known = self.collections.iter().position(|known| is(known.meta, meta));
        let position = known.unwrap_or_else(|| {
            self.collections.push(Documents::new(meta));
            self.collections.len() - 1
        });
        &mut self.collections[position]
    }

    /// Reads the documents that these writes may change. Gives `false` where a condition matches more than `most`.
    async fn look(&mut self, scope: &Scope<'_>, writes: &Writes, most: Option<usize>) -> Result<bool> {
        let single;
        let writes = match writes {
            Writes::Packed { meta, documents, .. } => {
                return self.insert(scope.odm, meta, documents).map(|()| true);
            }
            Writes::One(write) => {
                if let What::Insert(document) = &write.what
                    && write.meta.has_hooks()
                    && is_unrelated(scope.odm, write.meta)?
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
            if !self.entry(meta).look(scope, &own, with).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes documents that are inserted together. Those that the library neither checks nor fills in are stored as they are given.
    fn insert(&mut self, odm: &Odm, meta: &'static DocumentMeta, documents: &Packed) -> Result<()> {
        let is_as_given = is_unrelated(odm, meta)?;
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
    async fn changed(self, scope: &Scope<'_>, outcome: &Outcome) -> Result<Vec<HookedDocument>> {
        let mut all = Vec::new();
        for mut of in self.collections {
            if !outcome.errors.is_empty() {
                // Some of them were refused.
                of.asked
                    .extend(of.inserted.drain(..).map(|document| id(&document)));
            }
            all.extend(of.changed(scope).await?);
        }
        Ok(all)
    }
}
