//! The work of a write on other documents: it checks that its references have their targets, writes the other side of two-way
//! references, and updates copies and the derived fields of parents.
//!
//! All writes are executed in one way. They describe their changes, as [`Write`]s, and pass a function that executes them. A
//! write that touches no references is executed as it is; one that adds references, between two checks; one that touches
//! two-way references, copies that are not eventual, or parents, in a transaction, the caller's or one of its own, with the documents compared before and after. A
//! standalone server has no transactions: there the same is done without one, so a crash between two statements may leave a

//! link on one side, or a child counted in a parent that it left; `audit` finds both.

use crate::engine::recheck::{Recheck, Written};
use crate::engine::{Outcome, apply, images, recheck};
use crate::model::document::DocumentMeta;
use crate::model::graph::edge::Edge;
use crate::model::graph::{Graph, sync};
use crate::model::key::Key;
use crate::own_fields::Token;
use crate::plan::affected::Affected;
use crate::plan::links;
use crate::plan::links::{Diff, Effect, Node};
use crate::plan::operation::{What, Write};
use crate::plan::write::refers_to_its_kind;
use crate::rules::copy::fill;
use crate::rules::exists::{AddedRefs, Images, Missing, roots};
use crate::rules::{exists, link};
use crate::session::{self, Shared, Turn};
use crate::store::batch::{by_ids, id};
use crate::store::queue::QueueKey;
use crate::store::scope::Scope;
use crate::store::trace::Trace;
use crate::{Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of documents that one transaction changes: it has to end within the server's minute, and the server keeps it
/// in memory meanwhile.
pub(crate) const MAX_DOCS_PER_TX: usize = 1_000;

/// A function that executes the writes of an operation within a session, or out of one.
pub(crate) type Sender<'w, 'f> = &'f (dyn Fn(Option<Shared>) -> BoxFuture<'w, Result<Outcome>> + Send + Sync);

/// The work of an operation beside its writes.
pub(crate) struct Obligations<'a> {
    odm: &'a Odm,
    writes: &'a [Write],
    added: Vec<AddedRefs>,
    /// The two-way references that the writes touch: positions in the graph.
    linked: Vec<usize>,
    /// The derived values that the writes affect.
    affected: Affected,
    /// The token of the pending work that the writes record in their documents.
    token: Option<Token>,
    /// Whether it can be executed in parts, where it is for more documents than [one transaction](MAX_DOCS_PER_TX) takes.
    parts: bool,
    /// Whether its effects follow the write, also those that could be applied in its transaction.
    eventual: bool,
}

/// Maximum number of documents of one operation whose previous references are kept in memory, so that they can be restored.
const PUT_BACK: i64 = exists::MANY as i64;

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

impl<'a> Obligations<'a> {
    /// `None` where the writes touch no reference, which is decided without a question to the server.
    ///
    /// # Errors
    /// [`Error::Models`] for a document with references that is not registered.
    pub(crate) fn of(
        odm: &'a Odm,
        writes: &'a [Write],
        token: Option<Token>,
    ) -> Result<Option<Obligations<'a>>> {
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
        if !adds && linked.is_empty() && !affected.is_any() {
            return Ok(None);
        }
        let added = exists::added_refs(graph, writes.iter());
        Ok(Some(Obligations {
            odm,
            writes,
            added,
            linked,
            affected,
            token,
            parts: false,
            eventual: false,
        }))
    }

    /// Whether it touches two-way references.
    pub(crate) fn is_linked(&self) -> bool {
        !self.linked.is_empty()
    }

    /// Whether it is a transaction where the deployment has them.
    fn wants_transaction(&self) -> bool {
        !self.eventual && (self.is_linked() || self.affected.atomic || self.moves_children())
    }

    /// Whether it may be [eventual](Obligations::eventual): it changes one document by its id, or inserts one, and nothing but copies
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

    /// The same with nothing in its transaction: the write is sent with its pending work, and that is applied after it.
    pub(crate) fn eventual(mut self) -> Self {
        self.eventual = true;
        self
    }

    /// Whether it may take children away from parents in which something is derived of them: their documents before the write
    /// say which parents these are.
    fn moves_children(&self) -> bool {
        let graph = self.graph();
        self.affected.is_any() && self.writes.iter().any(|write| write.moves_children(graph))
    }

    /// Whether the operation is one transaction, all of it or nothing.
    pub(crate) async fn is_one(&self) -> Result<bool> {
        Ok(self.wants_transaction() && self.odm.has_transactions().await?)
    }

    /// The same of an operation that can be executed in parts: where it is for more documents than [one transaction](MAX_DOCS_PER_TX)
    /// takes, nothing is written, and [`Outcome::too_many`] says so.
    pub(crate) fn in_parts(mut self) -> Self {
        self.parts = true;
        self
    }

    /// Executes the operation with everything that it asks for. `send` executes the writes themselves, within the session that
    /// it is given; it may be called several times.
    ///
    /// # Errors
    /// Those of `send`; [`Error::MissingReference`], [`Error::ArrayFull`], [`Error::Query`] from the other side.
    // In a box: what it may take is large, and few operations come here.
    pub(crate) fn execute<'s>(
        &'s self,
        session: Option<&'s Shared>,
        trace: &'s Trace,
        send: Sender<'a, 's>,
    ) -> BoxFuture<'s, Result<Outcome>> {
        async move {
            let trips = AtomicU64::new(0);
            let scope = Scope::new(self.odm, session, &trips);
            let turn = match session {
                Some(session) => Some(session.turn().await),
                None => None,
            };
            let done = match session {
                Some(_) if self.wants_transaction() => self.linked(&scope, send).await,
                None if self.is_one().await? => self.in_transaction(&scope, send).await,
                None if self.is_linked() || self.moves_children() => {
                    self.without_transaction(&scope, send).await
                }
                _ => self.checked(&scope, send).await,
            };
            let done = self.drained(&scope, done).await;
            turn.into_iter().for_each(Turn::end);
            trace.more(trips.load(Ordering::Relaxed));
            done
        }
        .boxed()
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
                    apply::log_undrained(apply::drain_all(scope, self.with_pending(token)).await);
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
                let drained = if self.eventual {
                    self.drained_together(scope, token).await
                } else {
                    apply::drain_all(scope, pending).await
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
            return apply::drain(*scope, write.meta, token).await;
        };
        let left = scope.odm.queue().leave(document, token);
        let (_turn, tokens) = left.turn().await;
        if tokens.is_empty() {
            return Ok(0);
        }
        let drained = apply::drain_any(*scope, write.meta, doc! { "$in": &tokens }.into()).await?;
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
        self.odm.graph()
    }

    fn edges(&self) -> impl Iterator<Item = &'a Edge> + Clone {
        let graph = self.graph();
        self.linked.iter().filter_map(move |at| graph.edge(*at))
    }

    /// Between two questions.
    async fn checked(&self, scope: &Scope<'_>, send: Sender<'a, '_>) -> Result<Outcome> {
        let Some(before) = self.look(scope, None).await? else {
            return Ok(Outcome::too_many());
        };
        let done = send(scope.session.cloned()).await?;
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

    /// Whether the targets are there, and what the documents are that will change; together where that can be. `None` where the
    /// documents are more than these.
    async fn look(&self, scope: &Scope<'_>, most: Option<usize>) -> Result<Option<Images>> {
        let (mut images, missing) = match scope.session {
            None => futures::future::try_join(self.images(scope, most), self.check(scope)).await?,
            Some(_) => {
                let missing = self.check(scope).await?;
                (self.images(scope, most).await?, missing)
            }
        };
        if scope.session.is_none() && exists::may_go(self.graph(), &missing) {
            // A delete of the targets meanwhile has removed the references before.
            images = self.images(scope, most).await?;
        }
        images.lacking = exists::had_before(self.graph(), missing, self.writes, &images)?;
        let too_many = most.is_some_and(|most| images.is_more_than(most));
        Ok((!too_many).then_some(images))
    }

    async fn check(&self, scope: &Scope<'_>) -> Result<Vec<Missing>> {
        let graph = self.graph();
        let added = self.unheld(self.added.clone(), scope.session.is_some(), |edge| {
            !edge.copies.is_empty()
        });
        exists::before(scope, graph, &added, self.writes.iter()).await
    }

    /// Those of the references that are to be looked for: what is copied was read already, and in a transaction the source or
    /// the parent is locked, which finds it missing.
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
            let id = write.inserted().and_then(|document| value(document, "_id"));
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
        let written = Written {
            inserted,
            changed: before.changed,
        };
        let added = self.unheld(added, scope.session.is_some(), |_| false);
        Ok(Recheck::of(graph, added, written))
    }

    /// The documents that the writes will change, as they are: the fields that hold references. With `most`, at most one more
    /// than this number.
    async fn images(&self, scope: &Scope<'_>, most: Option<usize>) -> Result<Images> {
        let graph = self.graph();
        let mut images = Images::default();
        let mut collections: Vec<&'static DocumentMeta> = Vec::new();
        for write in self.writes {
            let known = collections
                .iter()
                .any(|meta| meta.collection == write.meta.collection);
            if !known && write.changed().is_some() {
                collections.push(write.meta);
            }
        }
        for meta in collections {
            let of = || {
                self.writes
                    .iter()
                    .filter(|write| write.meta.collection == meta.collection)
            };
            let linked = self
                .edges()
                .filter(|edge| edge.holder.collection == meta.collection);
            let is_linked = linked.clone().next().is_some();
            let added = graph.outgoing(meta).filter(|edge| {
                let adds = |write: &Write| write.changed().is_some() && write.adds(edge);
                !edge.is_two_way() && edge.reference.check && of().any(adds)
            });
            let edges = linked.chain(added);
            // The copies beside a nested reference are in the same field of the document.
            let own = edges.clone().filter(|edge| edge.segments.len() == 1);
            let beside: Vec<String> = own.flat_map(fill::beside).collect();
            let names: Vec<&str> = roots(edges)
                .into_iter()
                .chain(beside.iter().map(String::as_str))
                .collect();
            if names.is_empty() {
                continue;
            }
            let mut ids: Vec<Key> = Vec::new();
            let mut queries = Vec::new();
            for (filter, id) in of().filter_map(|write| write.changed()) {
                match id {
                    Some(id) => ids.push(Key::of_bson(id)),
                    None => {
                        let limit = if is_linked {
                            most.and_then(|most| i64::try_from(most + 1).ok())
                        } else {
                            Some(PUT_BACK)
                        };
                        queries.push(scope.find(meta, filter.clone(), names.iter().copied(), limit));
                    }
                }
            }
            let one = by_ids(scope, meta, ids.iter(), names.iter().copied());
            let (one, many) = futures::future::try_join(one, futures::future::try_join_all(queries)).await?;
            let mut seen = HashSet::new();
            let documents = one.into_iter().chain(many.into_iter().flatten());
            let documents = documents.filter(|document| seen.insert(id(document)));
            images.changed.push((meta, documents.collect()));
        }
        Ok(images)
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

    async fn in_transaction(&self, scope: &Scope<'_>, send: Sender<'a, '_>) -> Result<Outcome> {
        let work = |session: Shared| async move {
            let scope = scope.within(&session);
            self.linked_within(&scope, send, self.most()).await
        };
        let documents = self.documents();
        let made = if self.may_be_eventual() {
            match session::unless_contended(self.odm, documents, work).await? {
                Some(made) => made,
                None => return Ok(Outcome::contended()),
            }
        } else {
            session::take_turns(self.odm, documents, work).await?
        };
        scope.trip();
        made.end(scope).await
    }

    /// The same on a standalone server: the write, and then what it asks of other documents.
    async fn without_transaction(&self, scope: &Scope<'_>, send: Sender<'a, '_>) -> Result<Outcome> {
        let made = self.linked_within(scope, send, self.most()).await?;
        made.end(scope).await
    }

    /// In the caller's transaction.
    async fn linked(&self, scope: &Scope<'_>, send: Sender<'a, '_>) -> Result<Outcome> {
        let Some(session) = scope.session else {
            return send(None).await;
        };
        let within = self.linked_within(scope, send, None).await?;
        let Within { done, recheck, left } = within;
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

    async fn linked_within(
        &self,
        scope: &Scope<'_>,
        send: Sender<'a, '_>,
        most: Option<usize>,
    ) -> Result<Within> {
        let Some(before) = self.look(scope, most).await? else {
            return Ok(Within::nothing(Outcome::too_many()));
        };
        let reads_images = self.affected.atomic && scope.session.is_some() || self.moves_children();
        let images = if reads_images {
            match images::Before::read(scope, self.writes, most).await? {
                Some(images) => Some(images),
                None => return Ok(Within::nothing(Outcome::too_many())),
            }
        } else {
            None
        };
        if scope.session.is_none() {
            self.foresee(scope, &before).await?;
        }
        let mut done = send(scope.session.cloned()).await?;
        if done.is_nothing() {
            return Ok(Within::nothing(done));
        }
        let beside = self.beside(scope, &before, images, &mut done).await;
        if let (Err(error), Some(session)) = (&beside, scope.session) {
            // One side is written and the other is not: whatever the caller does with the error, that is not committed.
            session.spoil(error);
        }
        let left = beside.map_err(|error| self.made(scope, error))?;
        let recheck = self.recheck(scope, before, &done).await;
        Ok(Within {
            done,
            recheck: recheck.map_err(|error| self.made(scope, error))?,
            left,
        })
    }

    /// Nothing takes a write back that no transaction holds, so what the other side of its links can be told to refuse is refused
    /// before it.
    async fn foresee(&self, scope: &Scope<'_>, before: &Images) -> Result<()> {
        let Some(after) = self.after(before, |_| true) else {
            return Ok(());
        };
        let diff = self.diff(before, &after)?;
        let effects = self.effects(scope, &diff).await?;
        let mut inserted: HashSet<(&str, Key)> = HashSet::new();
        for write in self.writes {
            let id = match write.inserted() {
                Some(document) => Some(id(document)),
                None => write.upserted_id().map(Key::of_bson),
            };
            inserted.extend(id.map(|id| (write.meta.collection, id)));
        }
        let is_inserted = |meta: &DocumentMeta, key: &Key| inserted.contains(&(meta.collection, key.clone()));
        link::have_room(scope, self.graph(), &effects, is_inserted).await
    }

    /// What links that were added and removed ask of the other side.
    async fn effects(&self, scope: &Scope<'_>, diff: &Diff) -> Result<Vec<Effect>> {
        let answers = link::answer(scope, self.graph(), links::questions(self.graph(), diff)).await?;
        links::effects(self.graph(), diff, &answers)
    }

    /// An error behind a write: out of a transaction that is made, whatever came after it.
    fn made(&self, scope: &Scope<'_>, error: crate::Error) -> crate::Error {
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
        images: Option<images::Before>,
        done: &mut Outcome,
    ) -> Result<apply::DeferredWork> {
        let mut within = apply::Propagation::new(scope);
        let mut other = apply::Beside::default();
        if self.is_linked() {
            // It may be on the other side of its own links.
            done.after = None;
            other = self
                .other_side(scope, before, images.as_ref(), done, &mut within)
                .await?;
        }
        let own = images.map(|images| (self.writes, images, &*done));
        within.written(scope, own, other).await?;
        let (copies, left) = within.end(scope).await?;
        done.copies += copies;
        Ok(left)
    }

    /// Writes the other side of everything that was linked or unlinked.
    async fn other_side(
        &self,
        scope: &Scope<'_>,
        before: &Images,
        images: Option<&images::Before>,
        done: &Outcome,
        within: &mut apply::Propagation,
    ) -> Result<apply::Beside> {
        let foreseen = self
            .after(before, |at| done.is_made(at))
            .filter(|_| done.missed == 0);
        let after = match foreseen {
            Some(after) => after,
            None => self.read_after(scope, before, done).await?,
        };
        let diff = self.diff(before, &after)?;
        if diff.is_empty() {
            return Ok(apply::Beside::default());
        }
        let effects = self.effects(scope, &diff).await?;
        let own = images.map(|before| apply::Own {
            before,
            writes: self.writes,
            done,
        });
        within.apply(scope, own, &effects).await
    }

    /// The documents that the writes concern, as they are read after them.
    async fn read_after(&self, scope: &Scope<'_>, before: &Images, done: &Outcome) -> Result<After> {
        let mut after = After::default();
        let mut collections: Vec<(&'static DocumentMeta, HashSet<Key>)> = Vec::new();
        let mut concern = |meta: &'static DocumentMeta, key: Key| match collections
            .iter_mut()
            .find(|(other, _)| other.collection == meta.collection)
        {
            Some((_, keys)) => drop(keys.insert(key)),
            None => collections.push((meta, HashSet::from([key]))),
        };
        for (meta, documents) in &before.changed {
            documents.iter().for_each(|document| concern(meta, id(document)));
        }
        for write in self.writes {
            if let Some(document) = write.inserted() {
                if let Some(id) = document.get("_id").ok().flatten() {
                    concern(write.meta, Key::of(id));
                }
                continue;
            }
            let one = write.changed().and_then(|(_, id)| id);
            if let Some(id) = done.upserted.as_ref().or(one) {
                concern(write.meta, Key::of_bson(id));
            }
        }
        for (meta, keys) in collections {
            let edges = self
                .edges()
                .filter(|edge| edge.holder.collection == meta.collection);
            let names = roots(edges.clone());
            if names.is_empty() {
                continue;
            }
            for document in by_ids(scope, meta, keys.iter(), names).await? {
                let Some(holder) = node(&document) else { continue };
                for edge in edges.clone() {
                    after.add(edge, &holder, values(edge, &document));
                }
            }
        }
        Ok(after)
    }

    /// The documents after the writes, where that can be told without reading them: of inserts alone, of those that are
    /// made, or of one write.
    fn after(&self, before: &Images, made: impl Fn(usize) -> bool) -> Option<After> {
        let only_inserts = self.writes.iter().all(Write::is_insert);
        if self.writes.len() > 1 && !only_inserts {
            return None;
        }
        let mut after = After::default();
        for write in self.writes {
            let edges = || {
                self.edges()
                    .filter(|edge| edge.holder.collection == write.meta.collection)
            };
            if !made(write.at) {
                // All is as it was.
                for document in before.of(write.meta) {
                    let holder = node(document)?;
                    for edge in edges() {
                        after.add(edge, &holder, values(edge, document));
                    }
                }
                continue;
            }
            if let Some(document) = write.document() {
                let holder = node(document)?;
                for edge in edges() {
                    after.add(edge, &holder, values(edge, document));
                }
            }
            let Some(touches) = write.touches() else { continue };
            for document in before.of(write.meta) {
                let holder = node(document)?;
                for edge in edges() {
                    after.add(
                        edge,
                        &holder,
                        touches.after(edge, &values(edge, document), false)?,
                    );
                }
            }
            if write.is_upsert() && before.of(write.meta).next().is_none() {
                let holder = Node::of(write.upserted_id()?);
                for edge in edges() {
                    after.add(edge, &holder, touches.after(edge, &[], true)?);
                }
            }
        }
        Some(after)
    }

    fn diff(&self, before: &Images, after: &After) -> Result<Diff> {
        let mut diff = Diff::default();
        let mut seen: HashSet<(usize, Key)> = HashSet::new();
        for edge in self.edges() {
            for document in before.of(edge.holder) {
                let Some(holder) = node(document) else { continue };
                let now = after.of(edge, &holder).unwrap_or_default();
                diff.add(edge, &holder, &values(edge, document), now)?;
                seen.insert((edge.at, holder.key));
            }
        }
        for (at, holder, now) in &after.list {
            if let Some(edge) = self.graph().edge(*at)
                && !seen.contains(&(*at, holder.key.clone()))
            {
                diff.add(edge, holder, &[], now)?;
            }
        }
        Ok(diff)
    }
}

/// The outcome of an operation before its commit.
struct Within {
    done: Outcome,
    recheck: Option<Recheck>,
    /// The work that is left after the commit.
    left: apply::DeferredWork,
}

impl Within {
    /// Nothing was written.
    fn nothing(done: Outcome) -> Within {
        Within {
            done,
            recheck: None,
            left: apply::DeferredWork::default(),
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

/// The references after the write, in the order of the writes.
#[derive(Debug, Default)]
pub(crate) struct After {
    list: Vec<(usize, Node, Vec<Bson>)>,
    places: HashMap<(usize, Key), usize>,
}

impl After {
    fn add(&mut self, edge: &Edge, holder: &Node, now: Vec<Bson>) {
        self.places.insert((edge.at, holder.key.clone()), self.list.len());
        self.list.push((edge.at, holder.clone(), now));
    }

    fn of(&self, edge: &Edge, holder: &Node) -> Option<&[Bson]> {
        let at = self.places.get(&(edge.at, holder.key.clone()))?;
        self.list.get(*at).map(|(_, _, now)| now.as_slice())
    }
}

/// A document by its id.
pub(crate) fn node(document: &RawDocument) -> Option<Node> {
    Some(Node::of(&value(document, "_id")?))
}

fn value(document: &RawDocument, name: &str) -> Option<Bson> {
    Bson::try_from(document.get(name).ok().flatten()?).ok()
}

/// The references of an edge in a document.
pub(crate) fn values(edge: &Edge, document: &RawDocument) -> Vec<Bson> {
    edge.values(document)
        .filter_map(|value| Bson::try_from(value).ok())
        .collect()
}

/// Deletes documents that were inserted a moment ago, and what links others with them.
pub(crate) fn remove<'s>(
    scope: &'s Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &'s [Bson],
) -> BoxFuture<'s, Result<()>> {
    async move {
        let left = if scope.odm.graph().is_linked(meta) && scope.odm.has_transactions().await? {
            session::take_turns(scope.odm, Vec::new(), |session| async move {
                unlink(&scope.within(&session), meta, ids).await
            })
            .await?
        } else {
            unlink(scope, meta, ids).await?
        };
        left.drain(scope).await.map(drop)
    }
    .boxed()
}

/// Returns what is to be done after the commit.
async fn unlink(scope: &Scope<'_>, meta: &'static DocumentMeta, ids: &[Bson]) -> Result<apply::DeferredWork> {
    let graph = scope.odm.graph();
    let edges = || graph.outgoing(meta).filter(|edge| edge.is_two_way());
    let mut left = apply::DeferredWork::default();
    let keys: Vec<Key> = ids.iter().map(Key::of_bson).collect();
    if graph.is_linked(meta) {
        let mut diff = Diff::default();
        for document in by_ids(scope, meta, keys.iter(), roots(edges())).await? {
            let Some(holder) = node(&document) else { continue };
            for edge in edges() {
                diff.add(edge, &holder, &values(edge, &document), &[])?;
            }
        }
        let answers = link::answer(scope, graph, links::questions(graph, &diff)).await?;
        let effects = links::effects(graph, &diff, &answers)?;
        let mut within = apply::Propagation::new(scope);
        let other = within.apply(scope, None, &effects).await?;
        within.written(scope, None, other).await?;
        (_, left) = within.end(scope).await?;
    }
    // Fields that are derived from them are derived without them before they are deleted.
    let derives = graph.derived_from(meta).next().is_some() || graph.is_child_of_others(meta);
    let token = Token::new();
    for ids in crate::model::key::chunks(&keys) {
        let which = doc! { "_id": { "$in": ids } };
        if derives {
            apply::mark_gone(scope, meta, which, token).await?
        } else {
            scope.delete(meta, which).await?
        };
    }
    if derives {
        left.add(meta, token);
    }
    Ok(left)
}
