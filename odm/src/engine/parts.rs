//! Operations that may be executed in parts, since one transaction can't hold their documents, or since a refusal of one write must not
//! undo the others. Every update by a condition and every bulk comes here, and every insert of many that rules apply to: most are one part.

use crate::engine::write;
use crate::engine::write::documents::Parts;
use crate::engine::write::execution::Execution;
use crate::engine::write::obligations::{self, Failure, MAX_DOCS_PER_TX, Obligations, once};
use crate::engine::write::unmatched::ATTEMPTS;
use crate::model::document::DocumentMeta;
use crate::plan::operation::refers_to_its_kind;
use crate::plan::operation::{UpdateMany, What, Write};
use crate::plan::outcome::Outcome;
use crate::store::decode::not_encoded;
use crate::store::packed::Packed;
use crate::{Error, Result, bounds, graph};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::RawDocumentBuf;
use std::collections::HashSet;

/// Inserts documents, with what their references and copies ask for.
pub(super) async fn inserts(
    execution: Execution<'_>,
    meta: &'static DocumentMeta,
    documents: Packed,
    give_back: bool,
) -> Result<Outcome> {
    let changed = execution.odm.graph().is_depended_on(meta);
    let mut all = Outcome {
        changed,
        ..execution.refused(Vec::new())
    };
    let places: Vec<usize> = documents.positions().collect();
    let mut writes = Vec::with_capacity(places.len());
    for (at, document) in places.into_iter().zip(documents.into_documents()) {
        let document = document.document().map_err(|source| not_encoded(meta, source))?;
        // A document that something is filled into is checked when it is complete.
        if give_back
            && !changed
            && let Err(error) = bounds::document(meta, document)
        {
            all.errors.push((at, error));
            continue;
        }
        writes.push(Write {
            at,
            meta,
            what: What::Insert(document.to_owned()),
        });
    }
    if execution.ordered && !all.errors.is_empty() {
        return Ok(all);
    }
    let most = most_at_once(execution, meta, &writes).await?;
    let mut rest = writes.into_iter().peekable();
    let parts = std::iter::from_fn(|| {
        let at = rest.peek()?.at;
        Some((at, rest.by_ref().take(most).collect()))
    });
    let run = |part| insert_part(execution, meta, part, give_back || changed).boxed();
    let ends = |made: &Result<Outcome>| {
        execution.ordered
            || matches!(
                made,
                Err(Error::Driver(_)
                    | Error::Unavailable { .. }
                    | Error::Refused { .. }
                    | Error::CollectionType { .. })
            )
    };
    inserted_by(all, parts, &run, ends).await
}

/// Inserts documents part by part, each known by the position of its first document. The parts before one that fails stay, and their
/// result is reported with its error. After an error no further part is inserted where the part's result `ends` the insert.
pub(super) async fn inserted_by<'e, P>(
    mut all: Outcome,
    parts: impl Iterator<Item = (usize, P)>,
    run: &(dyn Fn(P) -> BoxFuture<'e, Result<Outcome>> + Sync),
    ends: impl Fn(&Result<Outcome>) -> bool,
) -> Result<Outcome> {
    let mut is_first = true;
    for (at, part) in parts {
        let made = run(part).await;
        let ends = ends(&made);
        match made {
            Ok(outcome) => all.add(outcome),
            Err(Error::Bulk { errors, done }) => all.add(Outcome {
                errors,
                ..Outcome::from(*done)
            }),
            Err(error) if !is_first => all.errors.push((at, error)),
            Err(error) => return Err(error),
        }
        is_first = false;
        if ends && !all.errors.is_empty() {
            break;
        }
    }
    Ok(all)
}

/// The number of documents that are inserted at a time: a transaction of the operation's own has at most [`MAX_DOCS_PER_TX`], unless the
/// documents may refer to each other.
async fn most_at_once(execution: Execution<'_>, meta: &'static DocumentMeta, all: &[Write]) -> Result<usize> {
    let Execution { odm, session, .. } = execution;
    let documents = || {
        all.iter().filter_map(|write| match &write.what {
            What::Insert(document) => Some(document),
            _ => None,
        })
    };
    if all.len() <= MAX_DOCS_PER_TX
        || session.is_some()
        || obligations::belong_together(odm, meta, documents())
    {
        return Ok(usize::MAX);
    }
    Ok(match Obligations::of(execution, all, None)? {
        Some(obligations) if obligations.is_one().await? => MAX_DOCS_PER_TX,
        _ => usize::MAX,
    })
}

/// Inserts documents at once. Those that break a bound with what is filled in are left out, unless the insert is ordered or others
/// may have copies of them.
async fn insert_part(
    execution: Execution<'_>,
    meta: &'static DocumentMeta,
    mut writes: Vec<Write>,
    give_back: bool,
) -> Result<Outcome> {
    let (refused, pending) = write::complete(execution, &mut writes).await?;
    if !refused.is_empty() {
        let positions: HashSet<usize> = refused.iter().map(|(at, _)| *at).collect();
        writes.retain(|write| !positions.contains(&write.at));
        let together = || refers_to_its_kind(execution.odm.graph(), meta);
        if execution.ordered || writes.is_empty() || together() {
            return Ok(execution.refused(refused));
        }
    }
    match once(execution, &mut writes, pending, false)
        .await
        .map_err(Error::from)
    {
        Ok(mut outcome) => {
            outcome.errors.extend(refused);
            if give_back {
                outcome.stored = writes.into_iter().filter_map(stored).collect();
            }
            Ok(outcome)
        }
        Err(Error::Bulk { mut errors, done }) => {
            errors.extend(refused);
            Err(Error::Bulk { errors, done })
        }
        Err(error) => {
            for (at, refused) in refused {
                tracing::warn!(target: "odm", at, "skipped document {at} of the batch: {refused}");
            }
            Err(error)
        }
    }
}

fn stored(write: Write) -> Option<RawDocumentBuf> {
    match write.what {
        What::Insert(document) => Some(document),
        _ => None,
    }
}

/// Updates all documents that match a condition: at once, or where they are too many for one transaction in parts.
pub(super) async fn update(
    execution: Execution<'_>,
    at: usize,
    meta: &'static DocumentMeta,
    update: Box<UpdateMany>,
) -> Result<Outcome> {
    let one = |update| Write {
        at,
        meta,
        what: What::UpdateMany(update),
    };
    let run = |update, in_parts| write::one(execution, one(update), in_parts).boxed();
    update_by(execution, meta, update, &run).await
}

/// A function that updates documents at once. Where it may be executed in parts, it says so of too many.
pub(super) type UpdateAtOnce<'u> =
    &'u (dyn Fn(Box<UpdateMany>, bool) -> BoxFuture<'u, Result<Outcome>> + Send + Sync);

/// The same by a function that updates some of them.
pub(super) async fn update_by(
    execution: Execution<'_>,
    meta: &'static DocumentMeta,
    update: Box<UpdateMany>,
    run: UpdateAtOnce<'_>,
) -> Result<Outcome> {
    let Execution {
        odm, session, trace, ..
    } = execution;
    trace.values("filter", &update.condition);
    trace.values("update", &update.built.update);
    for _ in 0..ATTEMPTS {
        let done = run(update.clone(), true).await?;
        if !done.too_many {
            return Ok(done);
        }
        // Each part reads its copies anew, and has a token of its own: a process that has read the pending work of one part may
        // clear it while the next one is executed.
        let mut parts = Parts::of(odm, trace, meta, update.condition.clone()).await?;
        let mut all = Outcome::default();
        let mut is_any = false;
        while let Some(condition) = parts.next().await? {
            is_any = true;
            let part = update.part(meta, condition)?;
            match run(Box::new(part), false).await {
                Ok(outcome) => all.add(outcome),
                // The parts before it stay.
                Err(error) if all.modified > 0 && session.is_none() => {
                    return Err(error.after_a_part(meta.collection));
                }
                Err(error) => return Err(error),
            }
        }
        // They may have gone before the first part, and then there is something to insert.
        if !update.upsert || is_any {
            return Ok(all);
        }
    }
    Err(Error::Contention {
        collection: meta.collection,
        message: format!(
            "the matching documents changed during each of {ATTEMPTS} attempts to update them: try again"
        ),
        source: None,
    })
}

/// Executes a bulk at once; on a standalone server one that changes links write by write.
pub(super) async fn bulk(execution: Execution<'_>, mut writes: Vec<Write>) -> Result<Outcome> {
    let Execution { odm, session, .. } = execution;
    let (mut refused, pending) = write::complete(execution, &mut writes).await?;
    if !refused.is_empty() {
        refused.sort_by_key(|(at, _)| *at);
        return Err(Error::Bulk {
            errors: refused,
            done: Box::default(),
        });
    }
    let is_linked = || -> Result<bool> {
        let obligations = Obligations::of(execution, &writes, pending)?;
        Ok(obligations.is_some_and(|obligations| obligations.is_linked()))
    };
    if session.is_some() || odm.has_transactions().await? || !is_linked()? {
        return once(execution, &mut writes, pending, false)
            .await
            .map_err(Error::from);
    }
    // On a standalone server the other side of a link follows each write, so that what it would refuse holds back that write
    // alone. Inserts of one kind are one write: they may refer to each other.
    let mut all = execution.refused(Vec::new());
    let alike = |a: &Write, b: &Write| {
        let inserts = matches!((&a.what, &b.what), (What::Insert(_), What::Insert(_)));
        inserts && graph::is_itself(a.meta, b.meta)
    };
    for part in writes.chunk_by_mut(alike) {
        match once(execution, part, pending, false).await {
            Ok(outcome) => all.add(outcome),
            Err(Failure {
                error: Error::Bulk { errors, done },
                ..
            }) => all.add(Outcome {
                errors,
                ..Outcome::from(*done)
            }),
            Err(failure) => all
                .errors
                .extend(part.first().map(|first| (first.at, failure.error))),
        }
        if execution.ordered && !all.errors.is_empty() {
            break;
        }
    }
    Ok(all)
}
