//! Applies pending work: after a write, or later from the markers in the documents.

use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{DELETE, OPERATION, Token};
use crate::rules::pending::{clear, grouped, has_pending_work, is_gone, record};
use crate::rules::rule::{DeferredWork, Draining};
use crate::rules::{self, needed};
use crate::store::batch;
use crate::store::batch::{after_id, id};
use crate::store::cx::{Cx, Statement};
use crate::store::each::{WriteReport, but_for_the_deployment};
use crate::store::fields::at;
use crate::store::filter;
use crate::store::queue::QueueKey;
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Number of documents with pending work that are handled at a time.
const BATCH: usize = 200;

/// Maximum number of times that documents are read again because other writers change them while their work is applied.
const REREADS: usize = 20;

impl DeferredWork {
    /// Applies it, after the commit. Returns the number of changed documents.
    ///
    /// # Errors
    /// The first failure, when everything else is applied.
    pub(crate) async fn drain(self, cx: &Cx<'_>) -> Result<u64> {
        self.apply(cx).await?.all()
    }

    /// The same; what was refused is in the result.
    ///
    /// # Errors
    /// An error that would occur with every document.
    pub(crate) async fn apply(self, cx: &Cx<'_>) -> Result<WriteReport> {
        if self.is_empty() {
            return Ok(WriteReport::default());
        }
        let cx = &cx.unvalidated();
        let mut applied = WriteReport::default();
        if !self.tokens.is_empty() {
            applied.add(
                drain_all(cx, self.tokens.clone())
                    .await
                    .map(WriteReport::of_documents),
            )?;
        }
        let mut of_rules = WriteReport::default();
        for rule in rules::all() {
            let token = Token::new();
            let rewritten = rule.after_commit(cx, &self, token).await?;
            of_rules.add(Ok(rewritten.written))?;
            for meta in rewritten.pending {
                of_rules.add(drain(*cx, meta, token).await.map(WriteReport::of_documents))?;
            }
        }
        if of_rules.refused.is_none() {
            self.clear_notes(cx).await?;
        }
        applied.add(Ok(of_rules))?;
        Ok(applied)
    }
}

/// Applies the pending work of one operation, and the further work that this causes. Returns the number of changed documents.
///
/// # Errors
/// The first failure, when everything else is applied.
pub(crate) fn drain<'s>(cx: Cx<'s>, meta: &'static DocumentMeta, token: Token) -> BoxFuture<'s, Result<u64>> {
    drain_any(cx, meta, token.into())
}

/// Applies the pending work of a contended write, together with that of the other writes of this process that take their turn at the
/// same document and record their work in this collection. The first of them applies all that is there by then, and the others find
/// nothing left to do.
///
/// # Errors
/// As [`drain`].
pub(crate) async fn drain_together(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    token: Token,
    document: Option<&QueueKey>,
) -> Result<u64> {
    let Some(document) = document else {
        return drain(cx, meta, token).await;
    };
    let registered = cx.odm.queue().register(document, meta.collection, token);
    let (_turn, tokens) = registered.turn().await;
    if tokens.is_empty() {
        return Ok(0);
    }
    let drained = drain_any(cx, meta, doc! { "$in": &tokens }.into()).await?;
    registered.applied(&tokens);
    Ok(drained)
}

/// Applies the pending work of all operations whose tokens match this condition, as [`drain`].
///
/// # Errors
/// The first failure, when everything else is applied.
pub(crate) fn drain_any<'s>(
    cx: Cx<'s>,
    meta: &'static DocumentMeta,
    tokens: Bson,
) -> BoxFuture<'s, Result<u64>> {
    async move {
        let fields = needed(cx.odm.graph(), meta);
        let pending = doc! { OPERATION: tokens };
        let mut applied = WriteReport::default();
        let mut before: HashSet<Key> = HashSet::new();
        loop {
            let some = cx.some(meta, pending.clone(), fields.clone(), BATCH).await?;
            let these: HashSet<Key> = some.documents.iter().map(id).collect();
            let are_left = !these.is_disjoint(&before);
            apply_each(&cx, meta, some.documents, &mut applied).await?;
            if !some.more {
                return applied.all();
            }
            if are_left || applied.refused.is_some() {
                break;
            }
            before = these;
        }
        // Work that stays pending would be found again and again. A pass in the order of the ids reaches the others.
        let mut last: Option<Bson> = None;
        loop {
            let after = last.as_ref().map(|last| after_id(meta, last)).unwrap_or_default();
            let filter = filter::all([pending.clone(), after]);
            let some = cx.batch(meta, filter, Some(fields.clone()), BATCH).await?;
            last = some.documents.last().map(batch::document_id);
            apply_each(&cx, meta, some.documents, &mut applied).await?;
            if !some.more {
                return applied.all();
            }
        }
    }
    .boxed()
}

/// Applies the pending work with these tokens, each in one collection, and goes on after a failure. Returns the number of
/// changed documents.
///
/// # Errors
/// The first failure, when everything else is applied; or at once an error that would occur with every document.
pub(crate) async fn drain_all(cx: &Cx<'_>, tokens: Vec<(&'static DocumentMeta, Token)>) -> Result<u64> {
    let mut applied = WriteReport::default();
    let mut known = HashSet::new();
    for (meta, token) in tokens {
        if known.insert((meta.collection, token)) {
            applied.add(drain(*cx, meta, token).await.map(WriteReport::of_documents))?;
        }
    }
    applied.all()
}

/// Leaves work that can't be applied to `recover`, where the caller has another error to return.
pub(crate) fn log_undrained(drained: Result<u64>) {
    if let Err(error) = drained {
        tracing::warn!(
            target: "odm",
            %error,
            "applying the pending work of a failed or undone write failed; `recover` will apply it"
        );
    }
}

/// The number of documents that the pending work of a committed transaction changed. The rest stays pending in the database: an
/// error would mean that the transaction was not committed.
pub(crate) fn drained_or_logged(drained: Result<u64>) -> u64 {
    drained.unwrap_or_else(|error| {
        tracing::warn!(
            target: "odm",
            %error,
            "applying the pending work of a committed transaction failed; `recover` will apply it"
        );
        0
    })
}

/// Applies the pending work of these documents, whichever operation left it, and clears it. If a part of it fails, the rest is
/// applied, and nothing is cleared.
pub(crate) fn apply_work<'s>(
    cx: &'s Cx<'_>,
    meta: &'static DocumentMeta,
    mut documents: Vec<RawDocumentBuf>,
) -> BoxFuture<'s, Result<u64>> {
    async move {
        let mut applied = WriteReport::default();
        for attempt in 0..=REREADS {
            let tokens: HashMap<Key, Key> = documents.iter().filter_map(operation_of).collect();
            let (once, overtaken) = apply_once(cx, meta, documents).await?;
            applied.add(Ok(once))?;
            if overtaken.is_empty() || applied.refused.is_some() {
                break;
            }
            // A write that changed copied fields has taken over the pending work. Another write has not: then the rest is
            // applied here, with the current values of the document.
            let ids: Vec<Bson> = overtaken.iter().map(Key::to_bson).collect();
            let which = filter::all([doc! { "_id": { "$in": ids } }, has_pending_work()]);
            documents = cx.every(meta, which, needed(cx.odm.graph(), meta)).await?;
            documents.retain(|document| {
                operation_of(document).is_some_and(|(id, token)| tokens.get(&id) == Some(&token))
            });
            if documents.is_empty() {
                break;
            }
            if attempt == REREADS {
                tracing::warn!(
                    target: "odm",
                    collection = meta.collection,
                    "other writers keep changing documents whose pending work is applied; it stays pending, and `recover` will apply it"
                );
            }
        }
        applied.all()
    }
    .boxed()
}

/// The id of a document and the token of its pending work.
fn operation_of(document: &RawDocumentBuf) -> Option<(Key, Key)> {
    Some((id(document), Key::of(at(document, OPERATION)?)))
}

/// One attempt of [`apply_work`]. Also returns the documents that other writers changed meanwhile, so that some of their holders may lack
/// the changes.
async fn apply_once(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
) -> Result<(WriteReport, HashSet<Key>)> {
    let graph = cx.odm.graph();
    let cx = &cx.unvalidated();
    let transactions = cx.session.is_none() && cx.odm.has_transactions().await?;
    let mut draining = Draining::new(documents, needed(graph, meta), transactions);
    for rule in rules::all() {
        rule.drain(cx, meta, &mut draining).await?;
        if draining.is_given_up {
            return Ok((draining.applied, HashSet::new()));
        }
    }
    let Draining {
        documents,
        token,
        mut applied,
        mut pending,
        overtaken,
        ..
    } = draining;
    if applied.refused.is_none() {
        let all = documents.iter().map(|(document, _)| document);
        let (gone, there): (Vec<_>, Vec<_>) = all.partition(|document| is_gone(document));
        for same in grouped(gone.into_iter()) {
            applied.and(cx.delete(meta, same.gone()).await)?;
        }
        // The work of other programs is pending still.
        let is_for_others = graph.is_for_others(meta);
        let done = there
            .into_iter()
            .filter(|document| !is_for_others && !overtaken.contains(&id(document)));
        applied.and(clear(cx, meta, done).await)?;
    }
    pending.dedup_by_key(|meta| meta.collection);
    let further = pending.into_iter().map(|meta| (meta, token)).collect();
    applied.add(drain_all(cx, further).await.map(WriteReport::of_documents))?;
    Ok((applied, overtaken))
}

/// Deletes documents from which other documents derive something, outside of a transaction: they are marked first, then
/// everything is derived without them, and then they are deleted. Returns their number.
pub(crate) async fn delete_after_draining(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
) -> Result<u64> {
    let token = Token::new();
    let marked = mark_gone(cx, meta, filter, token).await?;
    if marked > 0 {
        drain(*cx, meta, token).await?;
    }
    Ok(marked)
}

/// Marks documents that are deleted as soon as their pending work with this token is applied. Returns their number.
pub(crate) async fn mark_gone(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    token: Token,
) -> Result<u64> {
    let mut update = doc! { "$set": { DELETE: true } };
    record(&mut update, token);
    let mark = Statement {
        filter,
        update,
        array_filters: Vec::new(),
    };
    cx.unvalidated().update(meta, std::slice::from_ref(&mark)).await
}

/// Applies the pending work of these documents: together, and one by one where that fails. Counts the changed documents, and
/// keeps the first error.
///
/// # Errors
/// An error that would occur with every document.
pub(crate) async fn apply_each(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
    applied: &mut WriteReport,
) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    let ids = batch::ids(&documents);
    match (
        but_for_the_deployment(apply_work(cx, meta, documents).await)?,
        ids.as_slice(),
    ) {
        (Ok(copies), _) => applied.documents += copies,
        (Err(error), [one]) => {
            tell(meta, one, &error);
            applied.refuse(error);
        }
        (Err(_), _) => {
            // The work of some may be applied by now.
            let pending = filter::all([doc! { "_id": { "$in": &ids } }, has_pending_work()]);
            for document in cx.every(meta, pending, needed(cx.odm.graph(), meta)).await? {
                let id = batch::document_id(&document);
                match but_for_the_deployment(apply_work(cx, meta, vec![document]).await)? {
                    Ok(copies) => applied.documents += copies,
                    Err(error) => {
                        tell(meta, &id, &error);
                        applied.refuse(error);
                    }
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn tell(meta: &DocumentMeta, id: &Bson, error: &Error) {
    tracing::warn!(
        target: "odm",
        collection = meta.collection,
        %id,
        %error,
        "applying the pending work of a document failed; it stays pending"
    );
}
