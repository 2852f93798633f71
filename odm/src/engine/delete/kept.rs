//! Deletions that keep the documents, and their way back: `#[document(soft_delete)]`.
//!
//! Such a deletion is an update of the field with its time, with everything that follows from an update: counts, subsets and copies
//! follow by the rules. It also marks the document with an id of its own ([`DELETION`]). Documents that a `cascade` deletes with it
//! have the same id, so a restoration finds exactly these.
//!
//! | step of a deletion to which rules apply | round trips |
//! | --- | --- |
//! | the document is read | 1 |
//! | the documents that refer to it with `cascade` or `restrict` are read, level by level | 1 for each reference |
//! | where there are some to delete: its id is stored in the document, which a repeated deletion takes up | 1 |
//! | they are deleted, the last level first, and then the document | those of an update each |
//! | the document is read once more, and the references to all of them are looked up again | 1, and 1 for each reference |
//!
//! The second look finds a document whose writer had checked the reference before the deletion. Within a transaction it follows the commit.
//!
//! Deletions and restorations of one document may meet. Each ends with a comparison: where the document at the top is deleted, what refers
//! to it is deleted with it, and where it is not, the documents with the id of the deletion are restored. `tests/protocol/src/kept.rs` is
//! the model of it.

use crate::engine::delete::tree::{
    Below, DocumentKey, Level, Meta, Tree, alive, deletion, document_key, fields, followers, is_deleted,
    is_followed, token_at,
};
use crate::engine::delete::walk::{BATCH, asked_once};
use crate::engine::parts;
use crate::engine::write::execution::Execution;
use crate::graph::Graph;
use crate::model::own_fields::{DELETION, Token};
use crate::model::reference::OnDelete;
use crate::plan::operation::{Sent, UpdateMany, What, Write};
use crate::plan::outcome::Outcome;
use crate::rules::on_delete::{OnDeleteRule, Rules};
use crate::store::batch::document_id as id;
use crate::store::filter::within;
use crate::store::scope::{Scope, Statement};
use crate::store::session::{Shared, Unfinished};
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::HashSet;
use std::sync::atomic::AtomicU64;

/// Maximum number of looks for documents that have come to refer to the deleted ones.
const LOOKS: usize = 10;

/// Number of ids of holders that an error lists.
const SAMPLE: usize = 5;

/// Whether a deletion of such documents asks something of others.
fn has_rules(graph: &Graph, meta: Meta) -> bool {
    let mut incoming = graph.incoming(meta);
    incoming.any(|edge| {
        matches!(edge.reference.on_delete, OnDelete::Restrict)
            || is_followed(edge.holder, edge.reference.on_delete)
    })
}

/// The same write, sent by itself.
fn alone(execution: Execution<'_>) -> Execution<'_> {
    Execution {
        core: None,
        sent: Sent::Alone,
        ordered: true,
        ..execution
    }
}

/// Changes the documents that match, with everything that follows.
async fn change(execution: Execution<'_>, meta: Meta, condition: Document, update: Document) -> Result<u64> {
    let update = UpdateMany::by_library(meta, condition, update)?;
    let made = parts::update(alone(execution), 0, meta, Box::new(update)).await?;
    Ok(made.modified)
}

/// Deletes documents of one collection, write by write.
pub(super) async fn by_rules(execution: Execution<'_>, meta: Meta, deletes: &[Write]) -> Result<Outcome> {
    let mut all = execution.refused(Vec::new());
    let is_bulk = matches!(execution.sent, Sent::Bulk { .. });
    for write in deletes {
        let What::Delete(delete) = &write.what else {
            continue;
        };
        let made = delete_matching(execution, meta, &delete.filter, &mut all).await;
        match made {
            Ok(()) => {}
            Err(error @ Error::StillReferenced { .. }) if is_bulk => {
                all.errors.push((write.at, error));
                if execution.ordered || execution.session.is_some() {
                    break;
                }
            }
            Err(error) if execution.session.is_none() && all.deleted > 0 => {
                if is_bulk {
                    all.errors.push((write.at, error));
                    break;
                }
                return Err(error.after_a_part(meta.collection));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

async fn delete_matching(
    execution: Execution<'_>,
    meta: Meta,
    filter: &Document,
    all: &mut Outcome,
) -> Result<()> {
    let odm = execution.odm;
    for follower in followers(odm.graph(), meta).into_iter().chain([meta]) {
        odm.may_write(follower)?;
    }
    // One deletion has one id, also of several documents.
    let token = Token::new();
    if !has_rules(odm.graph(), meta) && !meta.has_hooks() {
        all.deleted += change(execution, meta, filter.clone(), deletion(meta, token)).await?;
        return Ok(());
    }
    let trips = AtomicU64::new(0);
    let scope = Scope::new(odm, execution.session, &trips);
    // One that is dropped within a transaction keeps that from being committed.
    let unfinished = execution.session.map(Shared::unfinished);
    let deleted = async {
        let filter = asked_once(&scope, meta, filter.clone()).await?;
        let filter = within(filter, &alive(meta));
        let roots = roots(&scope, meta, &filter).await?;
        let together: HashSet<DocumentKey> = roots
            .iter()
            .map(|document| document_key(meta, document))
            .collect();
        if roots.len() > 1 {
            // Where one is refused, none is deleted.
            for document in &roots {
                let mut tree = Tree::of(meta, document.clone(), token);
                tree.grow_free(&scope, &together).await?;
            }
        }
        for document in roots {
            Tree::of(meta, document, token)
                .delete(execution, (&scope, &together), &filter, all)
                .await?;
        }
        Ok(())
    };
    let deleted = deleted.await;
    unfinished.into_iter().for_each(Unfinished::end);
    execution.trace.more(trips.into_inner());
    if let (Err(error), Some(session)) = (&deleted, execution.session)
        && !matches!(error, Error::StillReferenced { .. })
    {
        // A part of it may be written: it must not be committed, whatever the caller does with the error.
        session.spoil(error);
    }
    deleted
}

/// The documents at the top of a deletion.
async fn roots(scope: &Scope<'_>, meta: Meta, filter: &Document) -> Result<Vec<RawDocumentBuf>> {
    let mut all = Vec::new();
    let mut last = None;
    loop {
        let fields = fields(scope.odm.graph(), meta);
        let batch = scope
            .next_batch(meta, filter, last.as_ref(), Some(fields), BATCH)
            .await?;
        last = batch.documents.last().map(id);
        all.extend(batch.documents);
        if !batch.more {
            return Ok(all);
        }
    }
}

impl Tree {
    /// Reads the documents below that are not deleted, and gives them.
    ///
    /// # Errors
    /// [`Error::StillReferenced`] where another document refers to one of the tree with `restrict`, which is not among those that are
    /// deleted `together` with it.
    async fn grow_free(&mut self, scope: &Scope<'_>, together: &HashSet<DocumentKey>) -> Result<Vec<Level>> {
        let graph = scope.odm.graph();
        let below = self.grow(scope, Below::Living, usize::MAX).await?;
        for (meta, documents) in &self.levels {
            let rules = Rules::of(graph, meta);
            for rule in rules.restricting(false) {
                for part in documents.chunks(BATCH) {
                    self.is_free((scope, together), rule, meta, part).await?;
                }
            }
        }
        Ok(below)
    }

    /// Whether nothing but what is deleted too refers to these documents.
    async fn is_free(
        &self,
        (scope, together): (&Scope<'_>, &HashSet<DocumentKey>),
        rule: OnDeleteRule<'_>,
        meta: Meta,
        documents: &[RawDocumentBuf],
    ) -> Result<()> {
        let holder = rule.edge.holder;
        let Some(refers) = rule.holders(documents) else {
            return Ok(());
        };
        let condition = within(refers, &alive(holder));
        let fields = crate::graph::sync::fields_of([rule.edge]);
        let mut found = scope.every(holder, condition, fields).await?;
        let is_deleted = |key: &DocumentKey| self.known.contains(key) || together.contains(key);
        found.retain(|one| !is_deleted(&document_key(holder, one)));
        let Some(first) = found.first() else {
            return Ok(());
        };
        let Some(referred) = rule.referred(first, documents).next().or(documents.first()) else {
            return Ok(());
        };
        let one = std::slice::from_ref(referred);
        found.retain(|holder| rule.referred(holder, one).next().is_some());
        Err(Error::StillReferenced {
            collection: meta.collection,
            id: Box::new(id(referred)),
            by: holder.collection,
            field: rule.edge.path.clone(),
            count: (found.len() as u64).max(1),
            sample: found.iter().take(SAMPLE).map(id).collect(),
        })
    }

    /// Stores the id of the deletion in the document at the top. Gives that of another client's where there is one, and `None` where the
    /// document is deleted.
    async fn begin(&self, scope: &Scope<'_>, meta: Meta, root: &Bson) -> Result<Option<Token>> {
        let document = within(doc! { "_id": root }, &alive(meta));
        let mark = Statement {
            filter: within(document.clone(), &doc! { DELETION: { "$exists": false } }),
            update: doc! { "$set": { DELETION: self.token } },
            array_filters: Vec::new(),
        };
        if scope.update(meta, &[mark]).await? > 0 {
            return Ok(Some(self.token));
        }
        let stored = scope.few(meta, document, doc! { DELETION: 1 }, 1).await?.pop();
        Ok(stored.map(|stored| token_at(&stored, &[DELETION]).unwrap_or(self.token)))
    }

    async fn delete(
        mut self,
        execution: Execution<'_>,
        (scope, together): (&Scope<'_>, &HashSet<DocumentKey>),
        filter: &Document,
        all: &mut Outcome,
    ) -> Result<()> {
        let below = self.grow_free(scope, together).await?;
        let Some((meta, root)) = self.root().map(|(meta, root)| (meta, id(root))) else {
            return Ok(());
        };
        if !below.is_empty() && scope.session.is_none() {
            let Some(token) = self.begin(scope, meta, &root).await? else {
                return Ok(());
            };
            self.token = token;
        }
        self.take_over(scope, &below).await?;
        let cascaded = self.delete_levels(&below, &changing(execution)).await?;
        // Those that match the condition, too, are counted as the one at the top.
        let documents = below
            .iter()
            .flat_map(|(meta, documents)| documents.iter().map(|one| document_key(meta, one)));
        let matching = documents.filter(|key| together.contains(key)).count() as u64;
        all.deleted += matching.min(cascaded);
        all.cascaded += cascaded.saturating_sub(matching);
        let condition = crate::store::filter::all([doc! { "_id": { "$eq": &root } }, filter.clone()]);
        let deleted = change(execution, meta, condition, deletion(meta, self.token)).await?;
        if deleted == 0 {
            let fields = fields(scope.odm.graph(), meta);
            let stored = scope.few(meta, doc! { "_id": &root }, fields, 1).await?.pop();
            return match stored {
                // It does not match any more.
                Some(stored) if !is_deleted(meta, &stored) => self.give_up(execution, all).await,
                // Another client has deleted it, with the same id or another one.
                Some(stored) => self.join(scope, meta, stored).await,
                None => Ok(()),
            };
        }
        all.deleted += deleted;
        // Hooks take them for removed.
        let hooked = self.levels.iter().filter(|(meta, _)| meta.has_hooks());
        let hooked = hooked.flat_map(|(meta, documents)| documents.iter().map(|one| (*meta, one.clone())));
        all.gone.extend(hooked);
        match scope.session {
            Some(session) => {
                session.look_for_references(self);
                Ok(())
            }
            None => self.compare(execution, (scope, together), all).await,
        }
    }

    /// Gives what the deletion has deleted to the one that has deleted the document at the top.
    async fn join(&self, scope: &Scope<'_>, meta: Meta, stored: RawDocumentBuf) -> Result<()> {
        let other = token_at(&stored, &[DELETION]);
        let Some(other) = other.filter(|other| *other != self.token) else {
            return Ok(());
        };
        let mut own = Tree::with(meta, stored, self.token);
        own.grow(scope, Below::Both, usize::MAX).await?;
        own.pass_to(scope, other).await
    }

    /// Compares the documents with the one at the top: those that have come to refer to it meanwhile are deleted with it, and where one
    /// of them refuses the deletion, all is restored. Where it is not deleted any more, what the deletion has deleted below it is restored.
    /// A document whose other target is deleted by now stays deleted with that.
    pub(in crate::engine) async fn compare(
        &mut self,
        execution: Execution<'_>,
        (scope, together): (&Scope<'_>, &HashSet<DocumentKey>),
        all: &mut Outcome,
    ) -> Result<()> {
        for _ in 0..LOOKS {
            let Some((meta, root)) = self.root().map(|(meta, root)| (meta, id(root))) else {
                return Ok(());
            };
            let fields = fields(scope.odm.graph(), meta);
            let stored = scope.few(meta, doc! { "_id": &root }, fields, 1).await?.pop();
            let Some(stored) = stored else { return Ok(()) };
            if !is_deleted(meta, &stored) {
                let mut below = Tree::with(meta, stored, self.token);
                below.grow(scope, Below::Deleted, usize::MAX).await?;
                below.leave_out_lacking(scope).await?;
                let Some(levels) = below.levels.get(1..).filter(|levels| !levels.is_empty()) else {
                    return Ok(());
                };
                below.restore_levels(levels, &changing(execution)).await?;
                below.delete_lacking(scope, &changing(execution)).await?;
                continue;
            }
            self.token = token_at(&stored, &[DELETION]).unwrap_or(self.token);
            let late = match self.grow_free(scope, together).await {
                Ok(late) => late,
                Err(error @ Error::StillReferenced { .. }) => {
                    all.deleted = all.deleted.saturating_sub(1);
                    self.give_up(execution, all).await?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            };
            if late.is_empty() {
                return Ok(());
            }
            self.take_over(scope, &late).await?;
            all.cascaded += self.delete_levels(&late, &changing(execution)).await?;
        }
        Ok(())
    }

    /// Restores what this deletion has deleted, as it is stored by now.
    async fn give_up(&self, execution: Execution<'_>, all: &mut Outcome) -> Result<()> {
        let Some((meta, root)) = self.root() else {
            return Ok(());
        };
        let trips = AtomicU64::new(0);
        let scope = Scope::new(execution.odm, execution.session, &trips);
        let place = doc! { "_id": id(root) };
        let stored = scope
            .few(meta, place, fields(execution.odm.graph(), meta), 1)
            .await?
            .pop();
        // Within a transaction the document at the top has no id before it is deleted.
        let is_of_it = |stored: &RawDocumentBuf| {
            scope.session.is_some() || token_at(stored, &[DELETION]) == Some(self.token)
        };
        let Some(stored) = stored.filter(is_of_it) else {
            return Ok(());
        };
        let mut tree = Tree::with(meta, stored, self.token);
        tree.grow(&scope, Below::Both, usize::MAX).await?;
        let (_, top_lacks) = tree.leave_out_lacking(&scope).await?;
        if top_lacks {
            execution.trace.more(trips.into_inner());
            return Ok(());
        }
        let change = changing(execution);
        let (restored, cascaded) = tree.restore(scope.session.is_none(), &change).await?;
        tree.delete_lacking(&scope, &change).await?;
        tree.end_restoration(&scope).await?;
        execution.trace.more(trips.into_inner());
        all.cascaded = all.cascaded.saturating_sub(cascaded);
        tracing::debug!(target: "odm", collection = meta.collection, restored, cascaded, "a deletion was taken back");
        Ok(())
    }
}

/// Changes documents as a part of an operation.
pub(in crate::engine) fn changing<'c>(
    execution: Execution<'c>,
) -> impl Fn(Meta, Document, Document) -> BoxFuture<'c, Result<u64>> + Send + Sync + 'c {
    move |meta, condition, update| change(execution, meta, condition, update).boxed()
}

/// The context of steps that follow an operation.
pub(in crate::engine) fn behind<'e>(
    odm: &'e Odm,
    session: Option<&'e Shared>,
    trace: &'e Trace,
) -> Execution<'e> {
    Execution {
        odm,
        core: None,
        session,
        trace,
        ordered: true,
        sent: Sent::Alone,
        eventual: false,
    }
}

/// Looks for references to documents that were deleted in a transaction, after its commit.
pub(crate) async fn look_again(odm: &Odm, trees: Vec<Tree>) -> Result<()> {
    let trips = AtomicU64::new(0);
    let scope = Scope::new(odm, None, &trips);
    let mut failed = Ok(());
    for mut tree in trees {
        let collection = tree.root().map_or("", |(meta, _)| meta.collection);
        let trace = Trace::new(collection, "delete");
        let execution = behind(odm, None, &trace);
        let mut all = Outcome::default();
        failed = failed.and(tree.compare(execution, (&scope, &HashSet::new()), &mut all).await);
    }
    failed
}
