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

use crate::engine::delete::walk::BATCH;
use crate::engine::parts;
use crate::engine::write::documents;
use crate::engine::write::execution::Execution;
use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{DELETION, RESTORING, Token};
use crate::model::reference::OnDelete;
use crate::plan::operation::{Sent, UpdateMany, What, Write};
use crate::plan::operators::implied::combines;
use crate::plan::outcome::Outcome;
use crate::rules::on_delete::{OnDeleteRule, Rules};
use crate::store::batch::document_id as id;
use crate::store::batch::ids;
use crate::store::fields::at;
use crate::store::filter::within;
use crate::store::scope::{Scope, Statement};
use crate::store::session::Shared;
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use std::collections::HashSet;
use std::sync::atomic::AtomicU64;

type Meta = &'static DocumentMeta;

/// Maximum number of looks for documents that have come to refer to the deleted ones.
const LOOKS: usize = 10;

/// Number of ids of holders that an error lists.
const SAMPLE: usize = 5;

/// The condition of documents that are not deleted.
fn alive(meta: Meta) -> Document {
    meta.soft_delete
        .map_or_else(Document::new, |name| doc! { name: null })
}

/// The update that deletes documents.
fn deletion(meta: Meta, token: Token) -> Document {
    let mut set = doc! { DELETION: token };
    if let Some(name) = meta.soft_delete {
        set.insert(name, crate::now());
    }
    versioned(meta, doc! { "$set": set })
}

/// The update that restores documents. The one at the top notes the id until the others are restored.
fn restoration(meta: Meta, notes: Option<Token>) -> Document {
    let mut set = Document::new();
    if let Some(name) = meta.soft_delete {
        set.insert(name, Bson::Null);
    }
    if let Some(token) = notes {
        set.insert(RESTORING, token);
    }
    versioned(meta, doc! { "$set": set, "$unset": { DELETION: "" } })
}

/// The condition of the documents that one deletion has deleted.
fn of_deletion(meta: Meta, token: Token) -> Document {
    let mut condition = doc! { DELETION: token };
    if let Some(name) = meta.soft_delete {
        condition.insert(name, doc! { "$ne": null });
    }
    condition
}

/// The id of a deletion in one of these fields.
pub(crate) fn token_at(document: &RawDocument, fields: &[&str]) -> Option<Token> {
    fields.iter().find_map(|field| match at(document, field) {
        Some(RawBsonRef::ObjectId(token)) => Some(token),
        _ => None,
    })
}

/// Raises the version of the documents, too.
fn versioned(meta: Meta, mut update: Document) -> Document {
    if let Some(version) = meta.version() {
        update.insert("$inc", doc! { version: 1_i64 });
    }
    update
}

/// Whether a deletion of such documents asks something of others.
fn has_rules(graph: &Graph, meta: Meta) -> bool {
    let mut incoming = graph.incoming(meta);
    incoming.any(|edge| {
        matches!(edge.reference.on_delete, OnDelete::Restrict)
            || is_followed(edge.holder, edge.reference.on_delete)
    })
}

/// Whether documents are deleted with those that they refer to. The items of a bucket stay until the purge.
fn is_followed(holder: Meta, rule: OnDelete) -> bool {
    rule == OnDelete::Cascade && holder.soft_delete.is_some()
}

/// The collections of the documents that may be deleted with one of this type, from above.
fn followers(graph: &Graph, meta: Meta) -> Vec<Meta> {
    let mut all: Vec<Meta> = vec![meta];
    let mut at = 0;
    while let Some(meta) = all.get(at).copied() {
        for edge in graph.incoming(meta) {
            if is_followed(edge.holder, edge.reference.on_delete)
                && !all.iter().any(|known| known.collection == edge.holder.collection)
            {
                all.push(edge.holder);
            }
        }
        at += 1;
    }
    let cyclic = graph.incoming(meta).any(|edge| {
        is_followed(edge.holder, edge.reference.on_delete)
            && all.iter().any(|known| known.collection == edge.holder.collection)
    });
    if cyclic {
        all
    } else {
        all.into_iter().skip(1).collect()
    }
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

/// Changes the documents of a type that match a condition by an update.
pub(crate) type ChangeFn<'c> =
    dyn Fn(Meta, Document, Document) -> BoxFuture<'c, Result<u64>> + Send + Sync + 'c;

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
    if !has_rules(odm.graph(), meta) && !meta.has_hooks() {
        all.deleted += change(execution, meta, filter.clone(), deletion(meta, Token::new())).await?;
        return Ok(());
    }
    let trips = AtomicU64::new(0);
    let scope = Scope::new(odm, execution.session, &trips);
    let filter = if combines(filter) {
        filter.clone()
    } else {
        let found = documents::found(&scope, meta, filter.clone(), "deleted").await?;
        within(doc! { "_id": { "$in": found } }, &alive(meta))
    };
    let deleted = async {
        let roots = roots(&scope, meta, &filter).await?;
        let together: HashSet<DocumentKey> = roots
            .iter()
            .map(|document| document_key(meta, document))
            .collect();
        if roots.len() > 1 {
            // Where one is refused, none is deleted.
            for document in &roots {
                Tree::of(meta, document.clone()).grow(&scope, &together).await?;
            }
        }
        for document in roots {
            Tree::of(meta, document)
                .delete(execution, (&scope, &together), &filter, all)
                .await?;
        }
        Ok(())
    };
    let deleted = deleted.await;
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

/// A document by its collection and id.
type DocumentKey = (&'static str, Key);

fn document_key(meta: Meta, document: &RawDocumentBuf) -> DocumentKey {
    (meta.collection, Key::of_bson(&id(document)))
}

/// The fields that are read of documents to delete: all of those whose hooks get them.
fn fields(graph: &Graph, meta: Meta) -> Document {
    if meta.has_hooks() {
        return Document::new();
    }
    let mut fields = Rules::of(graph, meta).fields;
    fields.insert(DELETION, 1);
    fields.insert(RESTORING, 1);
    fields
}

/// A document with those that are deleted with it.
#[derive(Debug)]
pub(crate) struct Tree {
    /// By the reference that led to them, each level behind those that it refers to.
    levels: Vec<(Meta, Vec<RawDocumentBuf>)>,
    known: HashSet<DocumentKey>,
    token: Token,
}

impl Tree {
    fn of(meta: Meta, document: RawDocumentBuf) -> Tree {
        // An interrupted deletion has left its id, and so has an interrupted restoration.
        let token = token_at(&document, &[DELETION, RESTORING]).unwrap_or_default();
        Tree {
            known: HashSet::from([document_key(meta, &document)]),
            levels: vec![(meta, vec![document])],
            token,
        }
    }

    fn root(&self) -> Option<(Meta, Bson)> {
        let (meta, documents) = self.levels.first()?;
        Some((meta, id(documents.first()?)))
    }

    /// The documents that refer to these with `cascade` and are not deleted, level by level.
    ///
    /// # Errors
    /// [`Error::StillReferenced`] where another document refers to one of them with `restrict`, which is not among those that are deleted
    /// `together` with it.
    async fn grow(
        &mut self,
        scope: &Scope<'_>,
        together: &HashSet<DocumentKey>,
    ) -> Result<Vec<(Meta, Vec<RawDocumentBuf>)>> {
        let graph = scope.odm.graph();
        let root = self
            .root()
            .map(|(meta, root)| (meta.collection, Key::of_bson(&root)));
        let mut seen: HashSet<DocumentKey> = root.into_iter().collect();
        let mut all = Vec::new();
        let mut level = 0;
        while let Some((meta, documents)) = self.levels.get(level) {
            let rules = Rules::of(graph, meta);
            let follows = rules
                .list
                .iter()
                .filter(|rule| is_followed(rule.edge.holder, rule.on_delete()));
            let mut more = Vec::new();
            for rule in follows {
                let holder = rule.edge.holder;
                let Some(refers) = rule.holders(documents) else {
                    continue;
                };
                let condition = within(refers, &alive(holder));
                let found = scope.every(holder, condition, fields(graph, holder)).await?;
                more.push((holder, found));
            }
            for (holder, mut found) in more {
                found.retain(|one| seen.insert(document_key(holder, one)));
                let new = found
                    .iter()
                    .filter(|one| self.known.insert(document_key(holder, one)));
                let new: Vec<RawDocumentBuf> = new.cloned().collect();
                if !new.is_empty() {
                    self.levels.push((holder, new));
                }
                if !found.is_empty() {
                    all.push((holder, found));
                }
            }
            level += 1;
        }
        for (meta, documents) in &self.levels {
            let rules = Rules::of(graph, meta);
            for rule in rules.restricting(false) {
                self.is_free((scope, together), rule, meta, documents).await?;
            }
        }
        Ok(all)
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

    /// Deletes these documents, the last level first.
    async fn delete_levels(
        &self,
        execution: Execution<'_>,
        levels: &[(Meta, Vec<RawDocumentBuf>)],
    ) -> Result<u64> {
        let mut deleted = 0;
        for (meta, documents) in levels.iter().rev() {
            for part in documents.chunks(BATCH) {
                let condition = within(doc! { "_id": { "$in": ids(part) } }, &alive(meta));
                deleted += change(execution, meta, condition, deletion(meta, self.token)).await?;
            }
        }
        Ok(deleted)
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
        let below = self.grow(scope, together).await?;
        let Some((meta, root)) = self.root() else {
            return Ok(());
        };
        if !below.is_empty() && scope.session.is_none() {
            let Some(token) = self.begin(scope, meta, &root).await? else {
                return Ok(());
            };
            self.token = token;
        }
        all.cascaded += self.delete_levels(execution, &below).await?;
        let condition = crate::store::filter::all([doc! { "_id": { "$eq": &root } }, filter.clone()]);
        let deleted = change(execution, meta, condition, deletion(meta, self.token)).await?;
        if deleted == 0 {
            // Another client has deleted it, with the same id, or it does not match any more.
            let there = within(doc! { "_id": &root }, &alive(meta));
            let is_there = !scope.few(meta, there, doc! { "_id": 1 }, 1).await?.is_empty();
            return if is_there {
                self.give_up(execution, all).await
            } else {
                Ok(())
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

    /// Compares the documents with the one at the top: those that have come to refer to it meanwhile are deleted with it, and where one
    /// of them refuses the deletion, all is restored. Where it is not deleted any more, those are restored that have the id.
    pub(in crate::engine) async fn compare(
        &mut self,
        execution: Execution<'_>,
        (scope, together): (&Scope<'_>, &HashSet<DocumentKey>),
        all: &mut Outcome,
    ) -> Result<()> {
        for _ in 0..LOOKS {
            let Some((meta, root)) = self.root() else {
                return Ok(());
            };
            let mut fields = doc! { DELETION: 1 };
            fields.extend(meta.soft_delete.map(|name| (name.to_owned(), Bson::Int32(1))));
            let stored = scope.few(meta, doc! { "_id": &root }, fields, 1).await?.pop();
            let Some(stored) = stored else { return Ok(()) };
            if !is_deleted(meta, &stored) {
                if !self.has_deleted(scope, meta).await? {
                    return Ok(());
                }
                restore_others(scope, meta, self.token, &changing(execution)).await?;
                continue;
            }
            self.token = token_at(&stored, &[DELETION]).unwrap_or(self.token);
            let late = match self.grow(scope, together).await {
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
            all.cascaded += self.delete_levels(execution, &late).await?;
        }
        Ok(())
    }

    /// Whether documents are deleted with the id.
    async fn has_deleted(&self, scope: &Scope<'_>, meta: Meta) -> Result<bool> {
        for follower in followers(scope.odm.graph(), meta) {
            let condition = of_deletion(follower, self.token);
            if !scope
                .few(follower, condition, doc! { "_id": 1 }, 1)
                .await?
                .is_empty()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Restores what this deletion has deleted.
    async fn give_up(&self, execution: Execution<'_>, all: &mut Outcome) -> Result<()> {
        let Some((meta, root)) = self.root() else {
            return Ok(());
        };
        let trips = AtomicU64::new(0);
        let scope = Scope::new(execution.odm, execution.session, &trips);
        let change = changing(execution);
        let (restored, cascaded) = restore_deletion(&scope, meta, (&root, self.token), &change).await?;
        execution.trace.more(trips.into_inner());
        all.cascaded = all.cascaded.saturating_sub(cascaded);
        tracing::debug!(target: "odm", collection = meta.collection, restored, cascaded, "a deletion was taken back");
        Ok(())
    }
}

/// Changes documents as a part of an operation.
fn changing<'c>(
    execution: Execution<'c>,
) -> impl Fn(Meta, Document, Document) -> BoxFuture<'c, Result<u64>> + Send + Sync + 'c {
    move |meta, condition, update| change(execution, meta, condition, update).boxed()
}

/// Whether a document is deleted and kept.
pub(crate) fn is_deleted(meta: Meta, document: &RawDocument) -> bool {
    let time = meta
        .soft_delete
        .and_then(|name| document.get(name).ok().flatten());
    time.is_some_and(|time| time != RawBsonRef::Null)
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

/// Restores the documents of one deletion: whether the one at the top was deleted, and how many others.
///
/// First the document at the top, where a unique index may refuse it. It keeps the id under another name until the others are restored, so
/// that an interrupted restoration goes on when it is repeated, and another deletion meanwhile has an id of its own.
pub(crate) async fn restore_deletion(
    scope: &Scope<'_>,
    meta: Meta,
    (root, token): (&Bson, Token),
    change: &ChangeFn<'_>,
) -> Result<(bool, u64)> {
    let has_followers = !followers(scope.odm.graph(), meta).is_empty();
    let top = within(doc! { "_id": { "$eq": root } }, &doc! { DELETION: token });
    let update = restoration(meta, has_followers.then_some(token));
    let restored = change(meta, top, update).await?;
    Ok((restored > 0, restore_others(scope, meta, token, change).await?))
}

/// Restores the documents that one deletion has deleted with the one at the top.
async fn restore_others(scope: &Scope<'_>, meta: Meta, token: Token, change: &ChangeFn<'_>) -> Result<u64> {
    let mut restored = 0;
    for follower in followers(scope.odm.graph(), meta) {
        restored += change(
            follower,
            of_deletion(follower, token),
            restoration(follower, None),
        )
        .await?;
    }
    Ok(restored)
}

/// Ends a restoration: the documents are compared with the one at the top, and the note of the id is removed.
pub(in crate::engine) async fn end_restoration(
    execution: Execution<'_>,
    scope: &Scope<'_>,
    meta: Meta,
    (document, token): (RawDocumentBuf, Token),
) -> Result<()> {
    if followers(scope.odm.graph(), meta).is_empty() {
        return Ok(());
    }
    let root = id(&document);
    if scope.session.is_none() {
        let mut tree = Tree::of(meta, document);
        tree.token = token;
        tree.compare(execution, (scope, &HashSet::new()), &mut Outcome::default())
            .await?;
    }
    let done = Statement {
        filter: doc! { "_id": root, RESTORING: token },
        update: doc! { "$unset": { RESTORING: "" } },
        array_filters: Vec::new(),
    };
    scope.update(meta, &[done]).await.map(drop)
}
