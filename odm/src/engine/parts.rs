//! Operations that may be executed in parts, since one transaction can't hold their documents, or since a refusal of one write must not
//! undo the others. Every update by a condition and every bulk comes here, and every insert of many that rules apply to: most are one part.

use crate::engine::write;
use crate::engine::write::attempt::{MAX_DOCS_PER_TX, attempt, mode};
use crate::engine::write::documents::KeysetPages;
use crate::engine::write::prepare::prepare;
use crate::engine::write::unmatched::ATTEMPTS;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::Token;
use crate::plan::modes::{self, Mode, WritePlan};
use crate::plan::operation::refers_to_its_kind;
use crate::plan::operation::{Batching, UpdateManyWrite, Write, WriteKind};
use crate::plan::outcome::{Attempt, Done, Outcome};
use crate::store::cx::Cx;
use crate::store::decode::not_encoded;
use crate::store::packed::Packed;
use crate::{Error, Result, bounds, graph};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::RawDocumentBuf;
use std::collections::HashSet;

/// Inserts documents, with what their references and copies ask for.
pub(super) async fn inserts(
    cx: Cx<'_>,
    batching: Batching,
    meta: &'static DocumentMeta,
    documents: Packed,
    give_back: bool,
) -> Result<Outcome> {
    let is_filled_in = cx.odm.graph().is_depended_on(meta);
    let mut all = Outcome {
        is_filled_in,
        ..batching.refused(Vec::new())
    };
    let places: Vec<usize> = documents.positions().collect();
    let mut writes = Vec::with_capacity(places.len());
    for (at, document) in places.into_iter().zip(documents.into_documents()) {
        let document = document.document().map_err(|source| not_encoded(meta, source))?;
        // A document that something is filled into is checked when it is complete.
        if give_back
            && !is_filled_in
            && let Err(error) = bounds::document(meta, document)
        {
            all.refusals.errors.push((at, error));
            continue;
        }
        writes.push(Write {
            at,
            meta,
            what: WriteKind::Insert(document.to_owned()),
        });
    }
    if all.refusals.end_operation() {
        return Ok(all);
    }
    let most = most_at_once(cx, batching, meta, &writes).await?;
    let mut rest = writes.into_iter().peekable();
    let parts = std::iter::from_fn(|| {
        let at = rest.peek()?.at;
        Some((at, rest.by_ref().take(most).collect()))
    });
    let run = |part| insert_part(cx, batching, meta, part, give_back || is_filled_in).boxed();
    let ends = |made: &Result<Outcome>| {
        batching.is_ordered()
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
            Err(Error::Bulk { errors, done }) => all.add_refused(*done, errors),
            Err(error) if !is_first => all.refusals.errors.push((at, error)),
            Err(error) => return Err(error),
        }
        is_first = false;
        if ends && !all.refusals.is_empty() {
            break;
        }
    }
    Ok(all)
}

/// The number of documents that are inserted at a time: a transaction of the operation's own has at most [`MAX_DOCS_PER_TX`], unless the
/// documents may refer to each other.
async fn most_at_once(
    cx: Cx<'_>,
    batching: Batching,
    meta: &'static DocumentMeta,
    all: &[Write],
) -> Result<usize> {
    let Cx { odm, session, .. } = cx;
    let documents = || {
        all.iter().filter_map(|write| match &write.what {
            WriteKind::Insert(document) => Some(document),
            _ => None,
        })
    };
    if all.len() <= MAX_DOCS_PER_TX || session.is_some() || modes::belong_together(odm, meta, documents()) {
        return Ok(usize::MAX);
    }
    let plan = WritePlan::for_writes(odm, batching, all)?;
    let mode = match &plan {
        Some(plan) => mode(cx, plan).await?,
        None => Mode::Plain,
    };
    Ok(match mode {
        Mode::Own { .. } => MAX_DOCS_PER_TX,
        Mode::Plain | Mode::Checked { .. } | Mode::Joined | Mode::Standalone => usize::MAX,
    })
}

/// Inserts documents at once. Those that break a bound with what is filled in are left out, unless the insert is ordered or others
/// may have copies of them.
async fn insert_part(
    cx: Cx<'_>,
    batching: Batching,
    meta: &'static DocumentMeta,
    mut writes: Vec<Write>,
    give_back: bool,
) -> Result<Outcome> {
    let (refused, token) = prepare(cx, &mut writes).await?;
    if !refused.is_empty() {
        let positions: HashSet<usize> = refused.iter().map(|(at, _)| *at).collect();
        writes.retain(|write| !positions.contains(&write.at));
        let together = || refers_to_its_kind(cx.odm.graph(), meta);
        if batching.is_ordered() || writes.is_empty() || together() {
            return Ok(batching.refused(refused));
        }
    }
    match at_once(cx, batching, &mut writes, token).await {
        Ok(mut outcome) => {
            outcome.refusals.errors.extend(refused);
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
        WriteKind::Insert(document) => Some(document),
        _ => None,
    }
}

/// Executes writes at once.
async fn at_once(
    cx: Cx<'_>,
    batching: Batching,
    writes: &mut [Write],
    token: Option<Token>,
) -> Result<Outcome> {
    let plan = WritePlan::for_writes(cx.odm, batching, writes)?;
    let made = attempt(&cx, batching, plan.as_deref(), writes, token, None).await?;
    outcome(made, writes)
}

fn outcome(made: Attempt, writes: &[Write]) -> Result<Outcome> {
    let collection = writes.first().map_or("", |write| write.meta.collection);
    Ok(made.into_done(collection)?.outcome)
}

/// Updates all documents that match a condition: at once, or where they are too many for one transaction in parts.
pub(super) async fn update(
    cx: Cx<'_>,
    at: usize,
    meta: &'static DocumentMeta,
    update: Box<UpdateManyWrite>,
) -> Result<Done> {
    let one = |update| Write {
        at,
        meta,
        what: WriteKind::UpdateMany(update),
    };
    let run = |update, limit| write::one(cx, one(update), limit).boxed();
    update_by(cx, meta, update, &run).await
}

/// A function that updates documents at once: with a limit, no more documents than that.
pub(super) type UpdateAtOnce<'u> =
    &'u (dyn Fn(Box<UpdateManyWrite>, Option<usize>) -> BoxFuture<'u, Result<Attempt>> + Send + Sync);

/// The same by a function that updates some of them.
pub(super) async fn update_by(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    update: Box<UpdateManyWrite>,
    run: UpdateAtOnce<'_>,
) -> Result<Done> {
    cx.trace.values(meta, "filter", &update.condition);
    cx.trace.values(meta, "update", &update.built.update);
    for _ in 0..ATTEMPTS {
        match run(update.clone(), Some(MAX_DOCS_PER_TX)).await? {
            Attempt::TooMany => {}
            made => return made.into_done(meta.collection),
        }
        // Each part reads its copies anew, and has a token of its own: a process that has read the pending work of one part may
        // clear it while the next one is executed.
        let mut parts = KeysetPages::open(cx, meta, update.condition.clone()).await?;
        let mut all = Done::default();
        let mut is_any = false;
        while let Some(condition) = parts.next().await? {
            is_any = true;
            let part = update.part(meta, condition)?;
            let made = run(Box::new(part), None).await;
            match made.and_then(|made| made.into_done(meta.collection)) {
                Ok(done) => all.add(done),
                // The parts before it stay.
                Err(error) if all.outcome.counts.modified > 0 && cx.session.is_none() => {
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
pub(super) async fn bulk(cx: Cx<'_>, batching: Batching, mut writes: Vec<Write>) -> Result<Outcome> {
    let (mut refused, token) = prepare(cx, &mut writes).await?;
    if !refused.is_empty() {
        refused.sort_by_key(|(at, _)| *at);
        return Err(Error::Bulk {
            errors: refused,
            done: Box::default(),
        });
    }
    let plan = WritePlan::for_writes(cx.odm, batching, &writes)?;
    let is_divided = match &plan {
        Some(plan) if !plan.links.is_empty() => mode(cx, plan).await? == Mode::Standalone,
        _ => false,
    };
    if !is_divided {
        let made = attempt(&cx, batching, plan.as_deref(), &mut writes, token, None).await?;
        return outcome(made, &writes);
    }
    // On a standalone server the other side of a link follows each write, so that what it would refuse holds back that write
    // alone. Inserts of one kind are one write: they may refer to each other.
    let mut all = batching.refused(Vec::new());
    let alike = |a: &Write, b: &Write| {
        let inserts = matches!((&a.what, &b.what), (WriteKind::Insert(_), WriteKind::Insert(_)));
        inserts && graph::is_itself(a.meta, b.meta)
    };
    for part in writes.chunk_by_mut(alike) {
        match at_once(cx, batching, part, token).await {
            Ok(outcome) => all.add(outcome),
            Err(Error::Bulk { errors, done }) => all.add_refused(*done, errors),
            Err(error) => all
                .refusals
                .errors
                .extend(part.first().map(|first| (first.at, error))),
        }
        if all.refusals.end_operation() {
            break;
        }
    }
    Ok(all)
}
