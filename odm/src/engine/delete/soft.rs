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

use crate::engine::delete::level::{
    DocumentKey, TreeLevel, TreeMeta, document_key, fields, is_deleted, parts, token_at,
};
use crate::engine::delete::tree::{Below, DeletionTree, alive, deletion, followers, is_followed};
use crate::engine::delete::walk::{BATCH, asked_once};
use crate::engine::parts::update as update_in_parts;
use crate::graph::Graph;
use crate::model::own_fields::{DELETION, Token};
use crate::model::reference::OnDelete;
use crate::plan::operation::{Batching, UpdateManyWrite, Write, WriteKind};
use crate::plan::outcome::Done;
use crate::rules::on_delete::restrict::RestrictRefusal;
use crate::rules::on_delete::{OnDeleteRule, Rules};
use crate::store::batch::document_id as id;
use crate::store::cx::{Cx, Statement, found_one};
use crate::store::filter::within;
use crate::store::session::{Session, Unfinished};
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::HashSet;

/// Maximum number of looks for documents that have come to refer to the deleted ones.
const LOOKS: usize = 10;

/// Whether a deletion of such documents asks something of others.
fn has_rules(graph: &Graph, meta: TreeMeta) -> bool {
    let mut incoming = graph.incoming(meta);
    incoming.any(|edge| {
        matches!(edge.reference.on_delete, OnDelete::Restrict)
            || is_followed(edge.holder, edge.reference.on_delete)
    })
}

/// Changes the documents that match, with everything that follows.
async fn change(cx: Cx<'_>, meta: TreeMeta, condition: Document, update: Document) -> Result<u64> {
    let update = UpdateManyWrite::by_library(meta, condition, update)?;
    let made = update_in_parts(cx, 0, meta, Box::new(update)).await?;
    Ok(made.outcome.counts.modified)
}

/// Deletes documents of one collection, write by write.
pub(super) async fn by_rules(
    cx: Cx<'_>,
    batching: Batching,
    meta: TreeMeta,
    deletes: &[Write],
) -> Result<Done> {
    let mut all = Done::from(batching.refused(Vec::new()));
    let is_bulk = batching.is_bulk();
    for write in deletes {
        let WriteKind::Delete(delete) = &write.what else {
            continue;
        };
        let made = delete_matching(cx, meta, &delete.filter, &mut all).await;
        match made {
            Ok(()) => {}
            Err(error @ Error::StillReferenced { .. }) if is_bulk => {
                all.outcome.refusals.errors.push((write.at, error));
                if batching.is_ordered() || cx.session.is_some() {
                    break;
                }
            }
            Err(error) if cx.session.is_none() && all.outcome.counts.deleted > 0 => {
                if is_bulk {
                    all.outcome.refusals.errors.push((write.at, error));
                    break;
                }
                return Err(error.after_a_part(meta.collection));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

async fn delete_matching(cx: Cx<'_>, meta: TreeMeta, filter: &Document, all: &mut Done) -> Result<()> {
    let odm = cx.odm;
    for follower in followers(odm.graph(), meta).into_iter().chain([meta]) {
        odm.may_write(follower)?;
    }
    // One deletion has one id, also of several documents.
    let token = Token::new();
    if !has_rules(odm.graph(), meta) && !meta.has_hooks() {
        all.outcome.counts.deleted += change(cx, meta, filter.clone(), deletion(meta, token)).await?;
        return Ok(());
    }
    // One that is dropped within a transaction keeps that from being committed.
    let unfinished = cx.session.map(Session::unfinished);
    let deleted = async {
        let filter = asked_once(&cx, meta, filter.clone()).await?;
        let filter = within(filter, &alive(meta));
        let roots = roots(&cx, meta, &filter).await?;
        let together: HashSet<DocumentKey> = roots
            .iter()
            .map(|document| document_key(meta, document))
            .collect();
        if roots.len() > 1 {
            // Where one is refused, none is deleted.
            for document in &roots {
                let mut tree = DeletionTree::new(meta, document.clone(), token);
                tree.grow_free(&cx, &together).await?;
            }
        }
        for document in roots {
            DeletionTree::new(meta, document, token)
                .for_hooks()
                .delete(cx, &together, &filter, all)
                .await?;
        }
        Ok(())
    };
    let deleted = deleted.await;
    unfinished.into_iter().for_each(Unfinished::complete);
    if let (Err(error), Some(session)) = (&deleted, cx.session)
        && !matches!(error, Error::StillReferenced { .. })
    {
        // A part of it may be written: it must not be committed, whatever the caller does with the error.
        session.spoil(error);
    }
    deleted
}

/// The documents at the top of a deletion.
async fn roots(cx: &Cx<'_>, meta: TreeMeta, filter: &Document) -> Result<Vec<RawDocumentBuf>> {
    let mut all = Vec::new();
    let mut last = None;
    loop {
        let fields = fields(cx.odm.graph(), meta);
        let batch = cx
            .next_batch(meta, filter, last.as_ref(), Some(fields), BATCH)
            .await?;
        last = batch.documents.last().map(id);
        all.extend(batch.documents);
        if !batch.more {
            found_one(meta, filter, &all)?;
            return Ok(all);
        }
    }
}

impl DeletionTree {
    /// Reads the documents below that are not deleted, and gives them.
    ///
    /// # Errors
    /// [`Error::StillReferenced`] where another document refers to one of the tree with `restrict`, which is not among those that are
    /// deleted `together` with it.
    async fn grow_free(&mut self, cx: &Cx<'_>, together: &HashSet<DocumentKey>) -> Result<Vec<TreeLevel>> {
        let graph = cx.odm.graph();
        let below = self.grow(cx, Below::Living, usize::MAX).await?;
        for level in &self.levels {
            let rules = Rules::for_model(graph, level.meta);
            for rule in rules.restricting(false) {
                for part in parts(level.documents.len()) {
                    let documents = level.some(cx, part, |_| true).await?;
                    self.is_free(cx, together, (rule, level.meta), &documents).await?;
                }
            }
        }
        Ok(below)
    }

    /// Whether nothing but what is deleted too refers to these documents.
    async fn is_free(
        &self,
        cx: &Cx<'_>,
        together: &HashSet<DocumentKey>,
        (rule, meta): (OnDeleteRule<'_>, TreeMeta),
        documents: &[RawDocumentBuf],
    ) -> Result<()> {
        let holder = rule.edge.holder;
        let Some(refers) = rule.holders(documents) else {
            return Ok(());
        };
        let condition = within(refers, &alive(holder));
        let fields = crate::graph::sync::fields_of([rule.edge]);
        let mut found = cx.every(holder, condition, fields).await?;
        let is_deleted = |key: &DocumentKey| self.known.contains(key.0, &key.1) || together.contains(key);
        found.retain(|one| !is_deleted(&document_key(holder, one)));
        if found.is_empty() {
            return Ok(());
        }
        Err(RestrictRefusal::new(rule, found)
            .error(cx, meta, documents)
            .await?)
    }

    /// Stores the id of the deletion in the document at the top. Gives that of another client's where there is one, and `None` where the
    /// document is deleted.
    async fn begin(&self, cx: &Cx<'_>, meta: TreeMeta, root: &Bson) -> Result<Option<Token>> {
        let document = within(doc! { "_id": root }, &alive(meta));
        let mark = Statement {
            filter: within(document.clone(), &doc! { DELETION: { "$exists": false } }),
            update: doc! { "$set": { DELETION: self.token } },
            array_filters: Vec::new(),
        };
        if cx.update(meta, &[mark]).await? > 0 {
            return Ok(Some(self.token));
        }
        let stored = cx.few(meta, document, doc! { DELETION: 1 }, 1).await?.pop();
        Ok(stored.map(|stored| token_at(&stored, &[DELETION]).unwrap_or(self.token)))
    }

    async fn delete(
        mut self,
        cx: Cx<'_>,
        together: &HashSet<DocumentKey>,
        filter: &Document,
        all: &mut Done,
    ) -> Result<()> {
        let below = self.grow_free(&cx, together).await?;
        let Some((meta, root)) = self.root().map(|(meta, root)| (meta, id(root))) else {
            return Ok(());
        };
        if !below.is_empty() && cx.session.is_none() {
            let Some(token) = self.begin(&cx, meta, &root).await? else {
                return Ok(());
            };
            self.token = token;
        }
        self.take_over(&cx, &below).await?;
        let cascaded = self.delete_levels(&below, &changing(cx)).await?;
        // Those that match the condition, too, are counted as the one at the top.
        let documents = below.iter().flat_map(|level| {
            let documents = level.documents.iter();
            documents.map(|one| (level.meta.collection, one.id.clone()))
        });
        let matching = documents.filter(|key| together.contains(key)).count() as u64;
        all.outcome.counts.deleted += matching.min(cascaded);
        all.outcome.counts.cascaded += cascaded.saturating_sub(matching);
        let condition = crate::store::filter::all([doc! { "_id": { "$eq": &root } }, filter.clone()]);
        let deleted = change(cx, meta, condition, deletion(meta, self.token)).await?;
        if deleted == 0 {
            let fields = fields(cx.odm.graph(), meta);
            let stored = cx.few(meta, doc! { "_id": &root }, fields, 1).await?.pop();
            return match stored {
                // It does not match any more.
                Some(stored) if !is_deleted(meta, &stored) => self.give_up(cx, all).await,
                // Another client has deleted it, with the same id or another one.
                Some(stored) => self.join(&cx, meta, stored).await,
                None => Ok(()),
            };
        }
        all.outcome.counts.deleted += deleted;
        // Hooks take them for removed.
        let hooked = self.levels.iter().filter(|level| level.meta.has_hooks());
        let hooked = hooked.flat_map(|level| {
            let documents = level.read.iter().flatten();
            documents.map(|one| (level.meta, one.clone()))
        });
        all.gone.extend(hooked);
        match cx.session {
            Some(session) => {
                session.look_for_references(self);
                Ok(())
            }
            None => self.compare(cx, together, all).await,
        }
    }

    /// Gives what the deletion has deleted to the one that has deleted the document at the top.
    async fn join(&self, cx: &Cx<'_>, meta: TreeMeta, stored: RawDocumentBuf) -> Result<()> {
        let other = token_at(&stored, &[DELETION]);
        let Some(other) = other.filter(|other| *other != self.token) else {
            return Ok(());
        };
        let mut own = DeletionTree::with(meta, stored, self.token);
        own.read_below(cx, Below::Both, usize::MAX, None).await?;
        own.pass_to(cx, other).await
    }

    /// Compares the documents with the one at the top: those that have come to refer to it meanwhile are deleted with it, and where one
    /// of them refuses the deletion, all is restored. Where it is not deleted any more, what the deletion has deleted below it is restored.
    /// A document whose other target is deleted by now stays deleted with that.
    pub(in crate::engine) async fn compare(
        &mut self,
        cx: Cx<'_>,
        together: &HashSet<DocumentKey>,
        all: &mut Done,
    ) -> Result<()> {
        for _ in 0..LOOKS {
            let Some((meta, root)) = self.root().map(|(meta, root)| (meta, id(root))) else {
                return Ok(());
            };
            let fields = fields(cx.odm.graph(), meta);
            let stored = cx.few(meta, doc! { "_id": &root }, fields, 1).await?.pop();
            let Some(stored) = stored else { return Ok(()) };
            if !is_deleted(meta, &stored) {
                let mut below = DeletionTree::with(meta, stored, self.token);
                below.read_below(&cx, Below::Deleted, usize::MAX, None).await?;
                below.leave_out_lacking(&cx).await?;
                let Some(levels) = below.levels.get(1..).filter(|levels| !levels.is_empty()) else {
                    return Ok(());
                };
                below.restore_levels(levels, &changing(cx)).await?;
                below.delete_lacking(&cx, &changing(cx)).await?;
                continue;
            }
            self.token = token_at(&stored, &[DELETION]).unwrap_or(self.token);
            let late = match self.grow_free(&cx, together).await {
                Ok(late) => late,
                Err(error @ Error::StillReferenced { .. }) => {
                    all.outcome.counts.deleted = all.outcome.counts.deleted.saturating_sub(1);
                    self.give_up(cx, all).await?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            };
            if late.is_empty() {
                return Ok(());
            }
            self.take_over(&cx, &late).await?;
            all.outcome.counts.cascaded += self.delete_levels(&late, &changing(cx)).await?;
        }
        Ok(())
    }

    /// Restores what this deletion has deleted, as it is stored by now.
    async fn give_up(&self, cx: Cx<'_>, all: &mut Done) -> Result<()> {
        let Some((meta, root)) = self.root() else {
            return Ok(());
        };
        let place = doc! { "_id": id(root) };
        let stored = cx.few(meta, place, fields(cx.odm.graph(), meta), 1).await?.pop();
        // Within a transaction the document at the top has no id before it is deleted.
        let is_of_it = |stored: &RawDocumentBuf| {
            cx.session.is_some() || token_at(stored, &[DELETION]) == Some(self.token)
        };
        let Some(stored) = stored.filter(is_of_it) else {
            return Ok(());
        };
        let mut tree = DeletionTree::with(meta, stored, self.token);
        tree.read_below(&cx, Below::Both, usize::MAX, None).await?;
        let (_, top_lacks) = tree.leave_out_lacking(&cx).await?;
        if top_lacks {
            return Ok(());
        }
        let change = changing(cx);
        let (restored, cascaded) = tree.restore(cx.session.is_none(), &change).await?;
        tree.delete_lacking(&cx, &change).await?;
        tree.end_restoration(&cx).await?;
        all.outcome.counts.cascaded = all.outcome.counts.cascaded.saturating_sub(cascaded);
        tracing::debug!(target: "odm", collection = meta.collection, restored, cascaded, "a deletion was taken back");
        Ok(())
    }
}

/// Changes documents as a part of an operation.
pub(in crate::engine) fn changing<'c>(
    cx: Cx<'c>,
) -> impl Fn(TreeMeta, Document, Document) -> BoxFuture<'c, Result<u64>> + Send + Sync + 'c {
    move |meta, condition, update| change(cx, meta, condition, update).boxed()
}

/// Looks for references to documents that were deleted in a transaction, after its commit.
pub(crate) async fn compare_again(cx: Cx<'_>, trees: Vec<DeletionTree>) -> Result<()> {
    let mut failed = Ok(());
    for mut tree in trees {
        let compared = tree.compare(cx, &HashSet::new(), &mut Done::default()).await;
        failed = failed.and(compared);
    }
    failed
}
