//! Executes writes once, with what they ask of other documents. Their plan says how: [`WritePlan::modes`].

use crate::engine::write::propagate::{self, ReadSet, WriteSet};
use crate::engine::write::recheck::{AfterWrites, Recheck};
use crate::engine::write::{changed_one, drain, send};
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::Token;
use crate::plan::images::BeforeImages;
use crate::plan::modes::{Mode, Modes, WritePlan};
use crate::plan::operation::{Batching, Write};
use crate::plan::outcome::{Attempt, Done};
use crate::plan::targets::{self, MissingReferences};
use crate::rules::exists;
use crate::rules::link::other_side::Linking;
use crate::rules::rule::{DeferredWork, Effects};
use crate::store::batch::id as id_of;
use crate::store::cx::Cx;
use crate::store::session::Session;
use crate::store::transaction;
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::options::ReturnDocument;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of documents that one transaction changes: it has to end within the server's minute, and the server keeps it
/// in memory meanwhile.
pub(crate) const MAX_DOCS_PER_TX: usize = 1_000;

/// Why writes were not executed.
pub(in crate::engine) struct FailedAttempt {
    pub(in crate::engine) error: Error,
    /// Whether the writes themselves were sent without an error: they must not be sent again.
    pub(in crate::engine) after_write: bool,
}

impl From<FailedAttempt> for Error {
    fn from(failure: FailedAttempt) -> Error {
        failure.error
    }
}

/// Executes writes that belong together. With a `limit`, nothing is written where they are for more documents than that.
///
/// # Errors
/// Those of the writes; [`Error::MissingReference`], [`Error::ArrayFull`], [`Error::Query`] from the other side of links.
pub(in crate::engine) async fn attempt(
    cx: &Cx<'_>,
    batching: Batching,
    plan: Option<&WritePlan>,
    writes: &mut [Write],
    token: Option<Token>,
    limit: Option<usize>,
) -> Result<Attempt, FailedAttempt> {
    match plan {
        None => {
            let sent = send::taking(*cx, batching, writes).await;
            sent.map_err(|error| FailedAttempt {
                error,
                after_write: false,
            })
        }
        Some(plan) => planned(*cx, batching, plan, writes, token, limit).await,
    }
}

/// Notes the shard keys of documents that were moved, for the statements that follow.
fn note_moved(cx: &Cx<'_>, writes: &[Write]) {
    for write in writes {
        if let Some(moved) = write.moved() {
            cx.trace.routes().moved(cx.odm.graph(), write.meta, moved);
        }
    }
}

/// How writes with this plan run here.
pub(in crate::engine) async fn mode(cx: Cx<'_>, plan: &WritePlan) -> Result<Mode> {
    Ok(match plan.modes(cx.session.is_some()) {
        Modes::One(mode) => mode,
        Modes::ByDeployment {
            with_transactions,
            standalone,
        } => {
            if cx.odm.has_transactions().await? {
                with_transactions
            } else {
                standalone
            }
        }
    })
}

/// Executes writes that ask for more than their own command.
// In a box: what it may take is large, and few operations come here.
fn planned<'a>(
    cx: Cx<'a>,
    batching: Batching,
    plan: &'a WritePlan,
    writes: &'a [Write],
    token: Option<Token>,
    limit: Option<usize>,
) -> BoxFuture<'a, Result<Attempt, FailedAttempt>> {
    async move {
        let planned = Planned {
            batching,
            plan,
            writes,
            is_sent: AtomicBool::new(false),
        };
        planned.run(cx, token, limit).await.map_err(|error| {
            let after_write = planned.is_sent.load(Ordering::Relaxed);
            if let (true, Some(session)) = (after_write, cx.session) {
                // A part of what follows from the write is missing: whatever the caller does with the error, that is not committed.
                session.spoil(&error);
            }
            FailedAttempt { error, after_write }
        })
    }
    .boxed()
}

/// Writes with their plan.
struct Planned<'a> {
    batching: Batching,
    plan: &'a WritePlan,
    writes: &'a [Write],
    /// Whether the writes themselves were sent without an error.
    is_sent: AtomicBool,
}

impl<'a> Planned<'a> {
    async fn run(&self, cx: Cx<'_>, token: Option<Token>, limit: Option<usize>) -> Result<Attempt> {
        let mode = mode(cx, self.plan).await?;
        // Operations of several commands take turns in the transaction of the caller.
        let turn = match cx.session {
            Some(session) => Some(session.turn().await),
            None => None,
        };
        let made = match mode {
            Mode::Plain | Mode::Checked { .. } => self.checked(cx).await,
            Mode::Own { may_fall_back } => self.in_transaction(cx, may_fall_back, limit).await,
            // In the caller's transaction nothing is divided.
            Mode::Joined => self.in_place(cx, None).await,
            Mode::Standalone => self.in_place(cx, limit).await,
        };
        let together = mode == Mode::Checked { together: true };
        let made = self.apply_pending(cx, token, together, made).await;
        if let Some(turn) = turn {
            turn.complete();
        }
        made
    }

    /// Checks the targets, sends the writes, and checks the targets again.
    async fn checked(&self, cx: Cx<'_>) -> Result<Attempt> {
        let Some(before) = self.check_and_read(&cx, false, None).await? else {
            return Ok(Attempt::TooMany);
        };
        let made = self.send(cx).await?;
        let after = match &made {
            Attempt::Done(done) => {
                self.follow_up(&cx, &before, done, DeferredWork::default())
                    .await?
            }
            Attempt::Unmatched | Attempt::TooMany | Attempt::Contended => AfterWrites::default(),
        };
        self.finish(cx, made, after).await
    }

    /// In the caller's transaction; or without one, where a crash between two statements may leave a link on one side, or a child counted
    /// in a parent that it left: `audit` finds both.
    async fn in_place(&self, cx: Cx<'_>, limit: Option<usize>) -> Result<Attempt> {
        let (made, after) = self.with_effects(cx, limit).await?;
        self.finish(cx, made, after).await
    }

    /// In a transaction of its own.
    async fn in_transaction(&self, cx: Cx<'_>, may_fall_back: bool, limit: Option<usize>) -> Result<Attempt> {
        let work = |session: Session| async move { self.with_effects(cx.within(&session), limit).await };
        let turns = WritePlan::turns(cx.odm.graph(), self.writes);
        let made = if may_fall_back {
            match transaction::unless_contended(cx, turns, work).await {
                Ok(Some(made)) => Ok(made),
                Ok(None) => return Ok(Attempt::Contended),
                Err(error) => Err(error),
            }
        } else {
            transaction::take_turns(cx, turns, work).await
        };
        match made {
            Ok((made, after)) => self.finish(cx, made, after).await,
            // Of a refused write nothing is left.
            Err(Error::Bulk { errors, .. }) => Err(Error::Bulk {
                errors,
                done: Box::default(),
            }),
            Err(error) => Err(error),
        }
    }

    /// Does what follows the writes: now, or after the commit of the caller's transaction.
    async fn finish(&self, cx: Cx<'_>, mut made: Attempt, after: AfterWrites) -> Result<Attempt> {
        match cx.session {
            Some(session) => session.keep(after),
            None => {
                let copies = after.run(&cx).await;
                add_copies(&mut made, copies.map_err(|error| self.as_unfinished(&cx, error))?);
            }
        }
        Ok(made)
    }

    /// Sends the writes, and applies everything that they ask of other documents. Gives what follows the commit.
    async fn with_effects(&self, cx: Cx<'_>, limit: Option<usize>) -> Result<(Attempt, AfterWrites)> {
        // Without transactions atomic copies are pending work; which parents children are taken from is known only from the documents before.
        let derived = (self.plan.affected.atomic && cx.session.is_some()) || self.plan.moves_children;
        let (before, made) = match self.change_one(cx, derived).await? {
            Some(both) => both,
            None => {
                let Some(before) = self.check_and_read(&cx, derived, limit).await? else {
                    return Ok((Attempt::TooMany, AfterWrites::default()));
                };
                if cx.session.is_none() {
                    self.linking(&cx).foresee(&cx, &before.0).await?;
                }
                (before, self.send(cx).await?)
            }
        };
        let Attempt::Done(mut done) = made else {
            return Ok((made, AfterWrites::default()));
        };
        let applied = self.apply_effects(cx, &before.0, derived, &mut done).await;
        let deferred = applied.map_err(|error| self.as_unfinished(&cx, error))?;
        let after = self.follow_up(&cx, &before, &done, deferred).await?;
        Ok((Attempt::Done(done), after))
    }

    /// Writes one document in a transaction, and reads it by the same command. `None` where the document has to be read before: a
    /// reference that it had before may name a missing target.
    async fn change_one(
        &self,
        cx: Cx<'_>,
        derived: bool,
    ) -> Result<Option<((BeforeImages, Vec<MissingReferences>), Attempt)>> {
        let graph = cx.odm.graph();
        let linked = self.linked(graph);
        let Some(write) = changed_one::can_be_read(&cx, self.batching, self.writes).await? else {
            return Ok(None);
        };
        let Some(read_set) = ReadSet::of_one(graph, write, &linked, derived) else {
            return Ok(None);
        };
        if !self.missing_targets(&cx).await?.is_empty() {
            return Ok(None);
        }
        let reads = if read_set.is_read_before() || changed_one::gives_before(write) {
            ReturnDocument::Before
        } else {
            ReturnDocument::After
        };
        let names = read_set.all_names(graph);
        let changed = changed_one::change_one(cx, write, &names, reads).await;
        self.is_sent.store(changed.is_ok(), Ordering::Relaxed);
        Ok(Some(match changed? {
            Some(changed) => {
                note_moved(&cx, self.writes);
                let (key, before, done) = changed.read_after(&cx, write, derived).await?;
                ((read_set.image(key, before), Vec::new()), Attempt::Done(done))
            }
            None => ((BeforeImages::default(), Vec::new()), Attempt::Unmatched),
        }))
    }

    fn linked<'g>(&self, graph: &'g Graph) -> Vec<&'g Edge> {
        self.plan.links.iter().map(|link| &graph[link.edge]).collect()
    }

    /// What follows the commit of the writes.
    async fn follow_up(
        &self,
        cx: &Cx<'_>,
        before: &(BeforeImages, Vec<MissingReferences>),
        done: &Done,
        deferred: DeferredWork,
    ) -> Result<AfterWrites> {
        let recheck = Recheck::after_writes(cx, self.plan, self.writes, before, &done.outcome).await;
        let recheck = recheck.map_err(|error| self.as_unfinished(cx, error))?;
        Ok(AfterWrites::new(recheck, deferred))
    }

    /// Applies everything that writes ask of other documents. Gives the work that follows the commit.
    async fn apply_effects(
        &self,
        cx: Cx<'_>,
        before: &BeforeImages,
        derived: bool,
        done: &mut Done,
    ) -> Result<DeferredWork> {
        let mut effects = Effects::new(&cx);
        let mut links = Vec::new();
        if !self.plan.links.is_empty() {
            // It may be on the other side of its own links.
            done.after = None;
            links = self.linking(&cx).effects(&cx, before, &done.outcome).await?;
        }
        let own = derived.then_some(WriteSet {
            before,
            writes: self.writes,
            done,
        });
        if let Err(error) = effects.pass_on_writes(&cx, own, &links).await {
            return Err(self.at_its_position(error, effects.refused));
        }
        let (copies, deferred) = effects.apply(&cx).await?;
        done.outcome.copies += copies;
        Ok(deferred)
    }

    /// The error of a rule that has refused the write of one document, with the position of that write among several.
    fn at_its_position(&self, error: Error, refused: Option<(&'static str, Key)>) -> Error {
        let Some((collection, key)) = refused.filter(|_| self.batching != Batching::Single) else {
            return error;
        };
        let names = |write: &&Write| {
            let id = write
                .inserted()
                .map(id_of)
                .or_else(|| write.changed_id().map(Key::of_bson));
            write.meta.collection == collection && id.as_ref() == Some(&key)
        };
        match self.writes.iter().find(names) {
            Some(write) => Error::Bulk {
                errors: vec![(write.at, error)],
                done: Box::default(),
            },
            None => error,
        }
    }

    /// Whether the targets are there, and what the documents are that will change, with what derived values depend on if it is asked
    /// for; together where that can be. `None` where the documents are more than the limit.
    async fn check_and_read(
        &self,
        cx: &Cx<'_>,
        derived: bool,
        limit: Option<usize>,
    ) -> Result<Option<(BeforeImages, Vec<MissingReferences>)>> {
        let graph = cx.odm.graph();
        let linked = self.linked(graph);
        let read = || propagate::read_before(cx, self.writes, &linked, derived, limit);
        let (mut before, missing) = match cx.session {
            None => futures::future::try_join(read(), self.missing_targets(cx)).await?,
            Some(_) => {
                let missing = self.missing_targets(cx).await?;
                (read().await?, missing)
            }
        };
        if cx.session.is_none() && targets::may_be_taken_out(graph, &missing) {
            // A delete of the targets meanwhile has removed the references before.
            before = read().await?;
        }
        let Some(before) = before else {
            return Ok(None);
        };
        let lacking = targets::had_before(graph, missing, self.writes, &before)?;
        let too_many = limit.is_some_and(|limit| before.are_more_than(limit));
        Ok((!too_many).then_some((before, lacking)))
    }

    async fn missing_targets(&self, cx: &Cx<'_>) -> Result<Vec<MissingReferences>> {
        let graph = cx.odm.graph();
        let asked = self.plan.targets_to_ask(graph, cx.session.is_some());
        exists::before(cx, graph, &asked, self.writes.iter()).await
    }

    fn linking<'c>(&'c self, cx: &Cx<'c>) -> Linking<'c> {
        let graph: &'c Graph = cx.odm.graph();
        Linking {
            graph,
            writes: self.writes,
            links: &self.plan.links,
        }
    }

    /// Sends the writes themselves, which a transaction may do several times.
    async fn send(&self, cx: Cx<'_>) -> Result<Attempt> {
        let sent = send::send(cx, self.batching, self.writes).await;
        self.is_sent.store(sent.is_ok(), Ordering::Relaxed);
        if let Ok(Attempt::Done(_)) = &sent {
            note_moved(&cx, self.writes);
        }
        sent
    }

    /// An error behind the writes: out of a transaction these are made, whatever came after them.
    fn as_unfinished(&self, cx: &Cx<'_>, error: Error) -> Error {
        match (cx.session, self.writes.first()) {
            (None, Some(write)) => error.after_a_part(write.meta.collection),
            _ => error,
        }
    }

    /// Applies the pending work that the writes have recorded in their documents: now, or after the commit of the caller's transaction.
    async fn apply_pending(
        &self,
        cx: Cx<'_>,
        token: Option<Token>,
        together: bool,
        made: Result<Attempt>,
    ) -> Result<Attempt> {
        let Some(token) = token else { return made };
        let pending = || self.with_pending_work(cx.odm.graph(), token);
        match (made, cx.session) {
            (Ok(made @ (Attempt::Unmatched | Attempt::TooMany | Attempt::Contended)), _) => Ok(made),
            (Ok(made), Some(session)) => {
                for (meta, token) in pending() {
                    session.add_pending(meta, token);
                }
                Ok(made)
            }
            (Ok(mut made), None) => {
                let applied = match self.writes.first().filter(|_| together) {
                    Some(write) => {
                        let turns = WritePlan::turns(cx.odm.graph(), self.writes);
                        drain::drain_together(cx, write.meta, token, turns.first()).await
                    }
                    None => drain::drain_all(&cx, pending()).await,
                };
                add_copies(
                    &mut made,
                    applied.map_err(|error| self.as_unfinished(&cx, error))?,
                );
                Ok(made)
            }
            (Err(error), Some(_)) => Err(error),
            // A part of the writes may have been made.
            (Err(error), None) => {
                drain::log_undrained(drain::drain_all(&cx, pending()).await);
                Err(error)
            }
        }
    }

    /// The collections in whose documents the writes may have recorded pending work.
    fn with_pending_work(&self, graph: &Graph, token: Token) -> Vec<(&'static DocumentMeta, Token)> {
        let mut metas: Vec<&'static DocumentMeta> = Vec::new();
        for write in self.writes {
            if graph.has_a_part(write.meta)
                && !metas.iter().any(|meta| meta.collection == write.meta.collection)
            {
                metas.push(write.meta);
            }
        }
        metas.into_iter().map(|meta| (meta, token)).collect()
    }
}

/// Adds the copies that were updated after the writes.
fn add_copies(made: &mut Attempt, copies: u64) {
    if let Attempt::Done(done) = made {
        done.outcome.copies += copies;
    }
}
