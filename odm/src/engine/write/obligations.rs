//! The work of a write on other documents: it checks that its references have their targets, writes the other side of two-way
//! references, and updates copies and the derived fields of parents.
//!
//! All writes are executed in one way ([`once`]). A write that touches no references is sent as it is; one that adds references, between
//! two checks; one that touches two-way references, copies that are not eventual, or parents, in a transaction, the caller's or one
//! of its own, with the documents compared before and after. A
//! standalone server has no transactions: there the same is done without one, so a crash between two statements may leave a
//! link on one side, or a child counted in a parent that it left; `audit` finds both.

use crate::engine::write::execution::Execution;
use crate::engine::write::recheck::{Recheck, WrittenReferences};
use crate::engine::write::{drain, propagate, recheck, send};
use crate::graph::edge::Edge;
use crate::graph::{Graph, sync};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::Token;
use crate::plan::operation::{Pending, What, Write, refers_to_its_kind};
use crate::plan::outcome::Outcome;
use crate::plan::touches::Affected;
use crate::rules::exists;
use crate::rules::exists::{AddedRefs, Images, Missing, roots};
use crate::rules::link::other_side::Linking;
use crate::rules::rule::{DeferredWork, Effects};
use crate::store::batch::by_ids;
use crate::store::queue::QueueKey;
use crate::store::scope::Scope;
use crate::store::transaction::{self, Shared, Turn};
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum number of documents that one transaction changes: it has to end within the server's minute, and the server keeps it
/// in memory meanwhile.
pub(crate) const MAX_DOCS_PER_TX: usize = 1_000;

/// Why writes were not executed.
pub(in crate::engine) struct Failure {
    pub(in crate::engine) error: Error,
    /// Whether it came after the writes themselves were made: they must not be sent again.
    pub(in crate::engine) after_write: bool,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        failure.error
    }
}

/// Sends writes once: alone, or with what they ask of other documents.
///
/// With `in_parts`, nothing is written where they are for more documents than [one transaction](MAX_DOCS_PER_TX) takes, and
/// [`Outcome::too_many`] says so.
pub(in crate::engine) async fn once(
    execution: Execution<'_>,
    writes: &mut [Write],
    pending: Pending,
    in_parts: bool,
) -> Result<Outcome, Failure> {
    let session = execution.session;
    let failed = |error| Failure {
        error,
        after_write: false,
    };
    let Some(mut obligations) = Obligations::of(execution, writes, pending).map_err(failed)? else {
        let made = send::once(execution, session.cloned(), writes).await;
        return all_or_nothing(session, made).map_err(failed);
    };
    obligations.parts = in_parts;
    obligations.execute().await
}

/// Of a transaction of the operation's own a refused write leaves nothing.
fn all_or_nothing(session: Option<&Shared>, made: Result<Outcome>) -> Result<Outcome> {
    match made {
        Err(Error::Bulk { errors, .. }) if session.is_none() => Err(Error::Bulk {
            errors,
            done: Box::default(),
        }),
        made => made,
    }
}

/// The work of an operation beside its writes.
pub(in crate::engine) struct Obligations<'a> {
    execution: Execution<'a>,
    writes: &'a [Write],
    added: Vec<AddedRefs>,
    /// The two-way references that the writes touch: positions in the graph.
    linked: Vec<usize>,
    /// The derived values that the writes affect.
    affected: Affected,
    /// The token of the pending work that the writes record in their documents.
    token: Pending,
    /// Whether it can be executed in parts, where it is for more documents than [one transaction](MAX_DOCS_PER_TX) takes.
    parts: bool,
    /// Whether the writes themselves were made.
    is_written: AtomicBool,
}

/// Whether new documents have to be inserted by one operation: they may refer to each other, or would link one document with
/// two of them, which is refused where both are seen.
pub(crate) fn belong_together<'d>(
    odm: &Odm,
    meta: &DocumentMeta,
    documents: impl Iterator<Item = &'d RawDocumentBuf> + Clone,
) -> bool {
    let graph = odm.graph();
    refers_to_its_kind(graph, meta)
        || graph.outgoing(meta).any(|edge| {
            let claims = graph.inverse(edge).is_some_and(|inverse| !inverse.list);
            let mut claimed: HashSet<Key> = HashSet::new();
            let mut is_claimed = |document: &RawDocumentBuf| {
                let keys: HashSet<Key> = edge.keys(0, document).into_iter().collect();
                keys.into_iter().any(|key| !claimed.insert(key))
            };
            claims && documents.clone().any(&mut is_claimed)
        })
}

/// Whether nothing refers to documents of this type, and they refer to nothing: a write of them is never more than itself.
///
/// # Errors
/// As [`Obligations::of`].
pub(crate) fn is_unrelated(odm: &Odm, meta: &'static DocumentMeta) -> Result<bool> {
    let graph = odm.graph();
    graph.is_registered(meta)?;
    odm.may_write(meta)?;
    Ok(graph.outgoing(meta).next().is_none() && !graph.takes_part(meta))
}

/// The two-way references that writes touch, as positions in the graph, and the derived values that they affect. `None` where they touch
/// no reference, which is decided without a question to the server.
///
/// # Errors
/// [`Error::Models`] for a document with references that is not registered.
pub(in crate::engine) fn touched(odm: &Odm, writes: &[Write]) -> Result<Option<(Vec<usize>, Affected)>> {
    let graph = odm.graph();
    let mut known = None;
    let mut related = false;
    for write in writes {
        if known != Some(write.meta.collection) {
            known = Some(write.meta.collection);
            related |= !is_unrelated(odm, write.meta)?;
        }
    }
    if !related {
        return Ok(None);
    }
    let mut linked: Vec<usize> = Vec::new();
    let mut adds = false;
    let mut affected = Affected::default();
    for write in writes {
        affected = affected.or(write.affected(graph));
        for edge in graph.outgoing(write.meta) {
            if !edge.is_two_way() {
                adds |= edge.reference.check && write.adds(edge);
            } else if !linked.contains(&edge.at) && write.touches_reference(edge) {
                linked.push(edge.at);
            }
        }
    }
    let is_any = adds || !linked.is_empty() || affected.is_any();
    Ok(is_any.then_some((linked, affected)))
}

impl<'a> Obligations<'a> {
    /// `None` where the writes touch no reference.
    ///
    /// # Errors
    /// As [`touched`].
    pub(in crate::engine) fn of(
        execution: Execution<'a>,
        writes: &'a [Write],
        token: Pending,
    ) -> Result<Option<Obligations<'a>>> {
        let touched = touched(execution.odm, writes)?;
        Ok(touched.map(|(linked, affected)| Obligations {
            execution,
            writes,
            added: exists::added_refs(execution.odm.graph(), writes.iter()),
            linked,
            affected,
            token,
            parts: false,
            is_written: AtomicBool::new(false),
        }))
    }

    /// Whether it touches two-way references.
    pub(in crate::engine) fn is_linked(&self) -> bool {
        !self.linked.is_empty()
    }

    /// Whether the operation runs in a transaction, if the deployment supports transactions.
    fn wants_transaction(&self) -> bool {
        !self.execution.eventual && (self.is_linked() || self.affected.atomic || self.moves_children())
    }

    /// Whether it may be [eventual](Execution::eventual): it changes one document by its id, or inserts one, and nothing but copies
    /// depends on that, none of them declared `sync = atomic`. A value that is computed from children is left out: deriving it again
    /// costs more than a transaction.
    fn may_be_eventual(&self) -> bool {
        let [write] = self.writes else {
            return false;
        };
        let of_one = match &write.what {
            What::Insert(_) => true,
            What::Update(update) => update.one.is_some() && !update.upsert,
            What::UpdateMany(_) | What::Replace(_) | What::Delete(_) => false,
        };
        let graph = self.graph();
        let is_child =
            || graph.derived_from(write.meta).next().is_some() || graph.is_child_of_others(write.meta);
        of_one && !self.is_linked() && !is_child() && !graph.leads_to_atomic(write.meta)
    }

    /// Whether it may take children away from parents in which something is derived of them: their documents before the write
    /// say which parents these are.
    fn moves_children(&self) -> bool {
        let graph = self.graph();
        self.affected.is_any() && self.writes.iter().any(|write| write.moves_children(graph))
    }

    /// Whether the operation is one transaction, all of it or nothing.
    pub(in crate::engine) async fn is_one(&self) -> Result<bool> {
        Ok(self.wants_transaction() && self.execution.odm.has_transactions().await?)
    }

    /// Executes the operation with everything that it asks for. The writes themselves may be sent several times.
    ///
    /// # Errors
    /// Those of the writes; [`Error::MissingReference`], [`Error::ArrayFull`], [`Error::Query`] from the other side.
    // In a box: what it may take is large, and few operations come here.
    fn execute(self) -> BoxFuture<'a, Result<Outcome, Failure>> {
        async move {
            let made = self.executed().await;
            all_or_nothing(self.execution.session, made).map_err(|error| Failure {
                error,
                after_write: self.is_written.load(Ordering::Relaxed),
            })
        }
        .boxed()
    }

    async fn executed(&self) -> Result<Outcome> {
        let Execution {
            odm, session, trace, ..
        } = self.execution;
        let trips = AtomicU64::new(0);
        let scope = Scope::new(odm, session, &trips);
        let turn = match session {
            Some(session) => Some(session.turn().await),
            None => None,
        };
        let done = match session {
            Some(session) if self.wants_transaction() => self.linked(&scope, session).await,
            None if self.is_one().await? => self.in_transaction(&scope).await,
            None if self.is_linked() || self.moves_children() => self.without_transaction(&scope).await,
            _ => self.checked(&scope).await,
        };
        if let (Err(error), Some(session)) = (&done, session)
            && self.is_written.load(Ordering::Relaxed)
        {
            // What the writes require of other documents, or their second check, is missing: whatever the caller does with the error,
            // that is not committed.
            session.spoil(error);
        }
        let done = self.drained(&scope, done).await;
        turn.into_iter().for_each(Turn::end);
        trace.more(trips.load(Ordering::Relaxed));
        done
    }

    /// Sends the writes themselves.
    async fn send(&self, scope: &Scope<'_>) -> Result<Outcome> {
        let made = send::send(self.execution, scope.session.cloned(), self.writes).await;
        self.is_written.store(made.is_ok(), Ordering::Relaxed);
        made
    }

    /// Applies the pending work in the documents of the writes: now, or at the end of the caller's transaction.
    async fn drained(&self, scope: &Scope<'_>, done: Result<Outcome>) -> Result<Outcome> {
        let Some(token) = self.token else { return done };
        let mut done = match done {
            Ok(done) if done.is_nothing() => return Ok(done),
            Ok(done) => done,
            // A part of the writes may have been made.
            Err(error) => {
                if scope.session.is_none() {
                    drain::log_undrained(drain::drain_all(scope, self.with_pending(token)).await);
                }
                return Err(error);
            }
        };
        let pending = self.with_pending(token);
        match scope.session {
            Some(session) => pending
                .into_iter()
                .for_each(|(meta, token)| session.add_pending(meta, token)),
            None => {
                let drained = if self.execution.eventual {
                    self.drained_together(scope, token).await
                } else {
                    drain::drain_all(scope, pending).await
                };
                let collection = self.writes.first().map_or("", |write| write.meta.collection);
                done.copies += drained.map_err(|error| error.after_a_part(collection))?;
            }
        }
        Ok(done)
    }

    /// Applies the pending work of a contended write, together with that of the other writes of this process at the same document.
    /// The first of them applies all that is there by then, and the others find nothing left to do.
    async fn drained_together(&self, scope: &Scope<'_>, token: Token) -> Result<u64> {
        let (Some(write), documents) = (self.writes.first(), self.documents()) else {
            return Ok(0);
        };
        let Some(document) = documents.first() else {
            return drain::drain(*scope, write.meta, token).await;
        };
        let left = scope.odm.queue().leave(document, token);
        let (_turn, tokens) = left.turn().await;
        if tokens.is_empty() {
            return Ok(0);
        }
        let drained = drain::drain_any(*scope, write.meta, doc! { "$in": &tokens }.into()).await?;
        left.applied(&tokens);
        Ok(drained)
    }

    /// The collections in whose documents the writes may record pending work.
    fn with_pending(&self, token: Token) -> Vec<(&'static DocumentMeta, Token)> {
        let mut metas: Vec<&'static DocumentMeta> = Vec::new();
        for write in self.writes {
            if self.graph().has_a_part(write.meta)
                && !metas.iter().any(|meta| meta.collection == write.meta.collection)
            {
                metas.push(write.meta);
            }
        }
        metas.into_iter().map(|meta| (meta, token)).collect()
    }

    fn graph(&self) -> &'a Graph {
        self.execution.odm.graph()
    }

    fn edges(&self) -> impl Iterator<Item = &'a Edge> + Clone {
        let graph = self.graph();
        self.linked.iter().filter_map(move |at| graph.edge(*at))
    }

    /// Checks the referenced documents, sends the write, and checks them again.
    async fn checked(&self, scope: &Scope<'_>) -> Result<Outcome> {
        let Some((before, _)) = self.look(scope, false, None).await? else {
            return Ok(Outcome::too_many());
        };
        let done = self.send(scope).await?;
        if done.is_nothing() {
            return Ok(done);
        }
        let made = |error| self.made(scope, error);
        let recheck = self.recheck(scope, before, &done).await.map_err(made)?;
        match (recheck, scope.session) {
            (Some(recheck), None) => recheck::after(scope, &[recheck]).await.map_err(made)?,
            (Some(recheck), Some(session)) => session.at_the_end(recheck),
            (None, _) => {}
        }
        Ok(done)
    }

    /// Whether the targets are there, and what the documents are that will change, with what derived values depend on if it is asked
    /// for; together where that can be. `None` where the documents are more than `most`.
    async fn look(
        &self,
        scope: &Scope<'_>,
        derived: bool,
        most: Option<usize>,
    ) -> Result<Option<(Images, propagate::Before)>> {
        let linked: Vec<&Edge> = self.edges().collect();
        let read = || propagate::read_before(scope, self.writes, &linked, derived, most);
        let (mut before, missing) = match scope.session {
            None => futures::future::try_join(read(), self.check(scope)).await?,
            Some(_) => {
                let missing = self.check(scope).await?;
                (read().await?, missing)
            }
        };
        if scope.session.is_none() && exists::may_go(self.graph(), &missing) {
            // A delete of the targets meanwhile has removed the references before.
            before = read().await?;
        }
        let Some((mut images, before)) = before else {
            return Ok(None);
        };
        images.lacking = exists::had_before(self.graph(), missing, self.writes, &images)?;
        let too_many = most.is_some_and(|most| images.is_more_than(most));
        Ok((!too_many).then_some((images, before)))
    }

    async fn check(&self, scope: &Scope<'_>) -> Result<Vec<Missing>> {
        let graph = self.graph();
        let added = self.unheld(self.added.clone(), scope.session.is_some(), |edge| {
            !edge.copies.is_empty()
        });
        exists::before(scope, graph, &added, self.writes.iter()).await
    }

    /// The references whose targets must be queried. Copied sources have been read already, and a transaction locks its sources and
    /// parents, which finds those that are missing.
    fn unheld(
        &self,
        mut added: Vec<AddedRefs>,
        transaction: bool,
        known: impl Fn(&Edge) -> bool,
    ) -> Vec<AddedRefs> {
        let graph = self.graph();
        added.retain(|one| {
            let edge = one.edge(graph).map(|(edge, _)| edge);
            !edge.is_some_and(|edge| known(edge) || transaction && sync::is_held(graph, edge))
        });
        added
    }

    /// The checks after the write, with the data that is needed to undo it.
    async fn recheck(&self, scope: &Scope<'_>, before: Images, done: &Outcome) -> Result<Option<Recheck>> {
        let graph = self.graph();
        let made = |write: &&Write| !write.is_insert() || done.is_made(write.at);
        let mut added = if self.writes.iter().all(|write| made(&write)) {
            self.added.clone()
        } else {
            exists::added_refs(graph, self.writes.iter().filter(made))
        };
        let mut inserted: Vec<(&'static DocumentMeta, Vec<Bson>)> = Vec::new();
        let mut insert = |meta: &'static DocumentMeta, id: Bson| match inserted
            .iter_mut()
            .find(|(other, _)| other.collection == meta.collection)
        {
            Some((_, ids)) => ids.push(id),
            None => inserted.push((meta, vec![id])),
        };
        for write in self.writes {
            let id = write
                .inserted()
                .and_then(|document| Bson::try_from(document.get("_id").ok().flatten()?).ok());
            if let Some(id) = id.filter(|_| done.is_made(write.at)) {
                insert(write.meta, id);
            }
        }
        if let (Some(id), Some(write)) = (done.upserted.as_ref(), self.writes.first()) {
            insert(write.meta, id.clone());
        }
        if let (Some(id), Some(write)) = (done.upserted.as_ref(), self.writes.first())
            && write.is_update_of_many()
        {
            // The condition brings references too.
            let names = roots(graph.outgoing(write.meta));
            let key = Key::of_bson(id);
            for document in by_ids(scope, write.meta, [&key].into_iter(), names).await? {
                added = exists::refs_of(graph, write.meta, &document);
            }
        }
        exists::leave(&mut added, &before.lacking);
        let written = WrittenReferences {
            inserted,
            changed: before.changed,
        };
        let added = self.unheld(added, scope.session.is_some(), |_| false);
        Ok(Recheck::of(graph, added, written))
    }

    /// The documents that its transaction will write, as far as they are known before: those that it names by their ids, and those
    /// on the other end of its references, which are locked or changed. A replacement may have had its references before.
    fn documents(&self) -> Vec<QueueKey> {
        let graph = self.graph();
        let mut documents = Vec::new();
        for write in self.writes {
            let one = write.changed().and_then(|(_, id)| id);
            documents.extend(one.or_else(|| write.upserted_id()).map(|id| QueueKey {
                collection: write.meta.collection,
                by: "_id",
                key: Key::of_bson(id),
            }));
            if matches!(write.what, What::Replace(_) | What::Delete(_)) {
                continue;
            }
            let written = |edge: &&Edge| edge.is_two_way() || sync::is_held(graph, edge);
            for edge in graph.outgoing(write.meta).filter(written) {
                write.each_added(edge, &mut |target, key, value| {
                    if let (Some(target), false) = (edge.targets.get(target), *value == Bson::Null) {
                        documents.push(QueueKey {
                            collection: target.collection,
                            by: edge.by(),
                            key: key.clone(),
                        });
                    }
                });
            }
        }
        documents
    }

    async fn in_transaction(&self, scope: &Scope<'_>) -> Result<Outcome> {
        let work = |session: Shared| async move {
            let scope = scope.within(&session);
            self.linked_within(&scope, self.most()).await
        };
        let documents = self.documents();
        let made = if self.may_be_eventual() {
            match transaction::unless_contended(self.execution.odm, documents, work).await? {
                Some(made) => made,
                None => return Ok(Outcome::contended()),
            }
        } else {
            transaction::take_turns(self.execution.odm, documents, work).await?
        };
        scope.trip();
        made.end(scope).await
    }

    /// The same on a standalone server: the write, and then what it asks of other documents.
    async fn without_transaction(&self, scope: &Scope<'_>) -> Result<Outcome> {
        let made = self.linked_within(scope, self.most()).await?;
        made.end(scope).await
    }

    /// In the caller's transaction.
    async fn linked(&self, scope: &Scope<'_>, session: &Shared) -> Result<Outcome> {
        let BeforeCommit { done, recheck, left } = self.linked_within(scope, None).await?;
        if let Some(recheck) = recheck {
            session.at_the_end(recheck);
        }
        session.leave(left);
        Ok(done)
    }

    /// Maximum number of documents that are changed at once.
    fn most(&self) -> Option<usize> {
        self.parts.then_some(MAX_DOCS_PER_TX)
    }

    async fn linked_within(&self, scope: &Scope<'_>, most: Option<usize>) -> Result<BeforeCommit> {
        let derived = self.affected.atomic && scope.session.is_some() || self.moves_children();
        let Some((before, images)) = self.look(scope, derived, most).await? else {
            return Ok(BeforeCommit::nothing(Outcome::too_many()));
        };
        let images = derived.then_some(images);
        if scope.session.is_none() {
            self.linking().foresee(scope, &before).await?;
        }
        let mut done = self.send(scope).await?;
        if done.is_nothing() {
            return Ok(BeforeCommit::nothing(done));
        }
        let left = self.beside(scope, &before, images, &mut done).await;
        let left = left.map_err(|error| self.made(scope, error))?;
        let recheck = self.recheck(scope, before, &done).await;
        Ok(BeforeCommit {
            done,
            recheck: recheck.map_err(|error| self.made(scope, error))?,
            left,
        })
    }

    fn linking(&self) -> Linking<'a> {
        Linking {
            graph: self.graph(),
            writes: self.writes,
            edges: self.edges().collect(),
        }
    }

    /// An error behind a write: out of a transaction that is made, whatever came after it.
    fn made(&self, scope: &Scope<'_>, error: Error) -> Error {
        match (scope.session, self.writes.first()) {
            (None, Some(write)) => error.after_a_part(write.meta.collection),
            _ => error,
        }
    }

    /// Everything that a write asks of other documents.
    async fn beside(
        &self,
        scope: &Scope<'_>,
        before: &Images,
        images: Option<propagate::Before>,
        done: &mut Outcome,
    ) -> Result<DeferredWork> {
        let mut effects = Effects::new(scope);
        let mut links = Vec::new();
        if self.is_linked() {
            // It may be on the other side of its own links.
            done.after = None;
            links = self.linking().effects(scope, before, done).await?;
        }
        let own = images.map(|before| propagate::OwnWrites {
            before,
            writes: self.writes,
            done,
        });
        effects.written(scope, own, &links).await?;
        let (copies, left) = effects.end(scope).await?;
        done.copies += copies;
        Ok(left)
    }
}

/// The outcome of an operation before its commit.
struct BeforeCommit {
    done: Outcome,
    recheck: Option<Recheck>,
    /// The work that is left after the commit.
    left: DeferredWork,
}

impl BeforeCommit {
    /// Nothing was written.
    fn nothing(done: Outcome) -> BeforeCommit {
        BeforeCommit {
            done,
            recheck: None,
            left: DeferredWork::default(),
        }
    }

    /// What comes after the commit.
    async fn end(self, scope: &Scope<'_>) -> Result<Outcome> {
        let mut done = self.done;
        let checked = match self.recheck {
            Some(recheck) => recheck::after(scope, &[recheck]).await,
            None => Ok(()),
        };
        let drained = self.left.drain(scope).await;
        checked?;
        done.copies += drained?;
        Ok(done)
    }
}
