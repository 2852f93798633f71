//! The commands of writes: one write, or inserts into one collection, as the driver's action, so that the driver retries what it can.
//! Bulks are in `bulk`.

use crate::engine::write::bulk;
use crate::error::results::BulkDone;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::OWN;
use crate::plan::keep::Replacement;
use crate::plan::operation::{
    Batching, DeleteWrite, ReplaceWrite, Reply, Selection, UpdateManyWrite, UpdateWrite, Write, WriteKind,
};
use crate::plan::operators::guard::Guard;
use crate::plan::operators::{Built, growth};
use crate::plan::outcome::{Attempt, Done, Outcome, Refusals};
use crate::store::core::{Core, PRIMARY, act};
use crate::store::cx::{Cx, not_unique};
use crate::store::filter::all;
use crate::store::map::Context;
use crate::store::packed::Packed;
use crate::{Error, Result, bounds};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::options::{
    CountOptions, DeleteOptions, FindOneAndDeleteOptions, FindOneAndUpdateOptions, Hint, ReadConcern,
    ReturnDocument, UpdateModifications, UpdateOptions,
};
use mongodb::results::UpdateResult;
use serde::Serialize;
use std::borrow::Borrow;

/// Sets the options of an action on the first document, in an order, by a collation and an index.
macro_rules! select {
    ($options:expr, $by:expr) => {{
        let (options, by) = (&mut $options, $by);
        if !by.sort.is_empty() {
            options.sort = Some(by.sort.clone());
        }
        options.collation.clone_from(&by.collation);
        options.hint = by.hint.clone().map(mongodb::options::Hint::Name);
    }};
}
pub(in crate::engine) use select;

/// The condition and the changes of an update.
type UpdateStatement = (Document, UpdateModifications);

/// Sends writes. An update or a replacement of one document that matches none is [`Attempt::Unmatched`].
///
/// Each kind is a future of its own in a box, of no more than its size.
///
/// A single update gives its change away instead of copying it, and what no further attempt needs of the rest.
pub(in crate::engine) fn taking<'a>(
    cx: Cx<'a>,
    batching: Batching,
    writes: &'a mut [Write],
) -> BoxFuture<'a, Result<Attempt>> {
    let statement = match &mut *writes {
        [
            Write {
                meta,
                what: WriteKind::Update(of),
                ..
            },
        ] if batching == Batching::Single && matches!(of.reply, Reply::Counts) => {
            Some(of.take_statement(meta))
        }
        [
            Write {
                meta,
                what: WriteKind::Replace(of),
                ..
            },
        ] if batching == Batching::Single => {
            let condition = of.one.filter(meta);
            of.take_update().map(|update| (condition, update))
        }
        _ => None,
    };
    send_with(cx, batching, writes, statement)
}

/// The same for writes that a transaction may send several times.
pub(in crate::engine) fn send<'a>(
    cx: Cx<'a>,
    batching: Batching,
    writes: &'a [Write],
) -> BoxFuture<'a, Result<Attempt>> {
    send_with(cx, batching, writes, None)
}

/// `statement` are the condition and the update that the one update has given away.
fn send_with<'a>(
    cx: Cx<'a>,
    batching: Batching,
    writes: &'a [Write],
    statement: Option<UpdateStatement>,
) -> BoxFuture<'a, Result<Attempt>> {
    let Some(first) = writes.first() else {
        return std::future::ready(Ok(Attempt::done(Outcome::default()))).boxed();
    };
    match batching {
        Batching::Single => {}
        Batching::InsertMany { ordered } => return inserts(cx, ordered, first.meta, writes).boxed(),
        Batching::Bulk { ordered, by_runs } => return bulk::send(cx, writes, ordered, by_runs).boxed(),
    }
    let core = cx.application(first.meta);
    match &first.what {
        WriteKind::Insert(document) => insert(cx, core, document).boxed(),
        WriteKind::Update(of) => match &of.reply {
            Reply::Counts => {
                let statement =
                    statement.unwrap_or_else(|| (of.condition(first.meta), of.built.modifications()));
                update(cx, core, of, statement).boxed()
            }
            Reply::Field(field) => update_field(cx, core, of, field).boxed(),
            Reply::Document(which) => update_document(cx, core, of, which).boxed(),
        },
        WriteKind::UpdateMany(of) => update_many(cx, core, of).boxed(),
        WriteKind::Replace(of) => replace(cx, core, of, statement).boxed(),
        WriteKind::Delete(of) => match of.one {
            Some(_) => delete_one(cx, core, &of.filter).boxed(),
            None => match &of.first {
                Some(by) => delete_first(cx, core, &of.filter, by).boxed(),
                None => delete_many(cx, core, of).boxed(),
            },
        },
    }
}

async fn inserts(
    cx: Cx<'_>,
    ordered: bool,
    meta: &'static DocumentMeta,
    writes: &[Write],
) -> Result<Attempt> {
    let documents = writes.iter().filter_map(|write| match &write.what {
        WriteKind::Insert(document) => Some(document),
        _ => None,
    });
    let places = |at: usize| writes.get(at).map_or(at, |write| write.at);
    let inserted = insert_many::<RawDocumentBuf>(cx, ordered, meta, documents, writes.len(), &places).await;
    inserted.map(Attempt::done)
}

async fn delete_many(cx: Cx<'_>, core: Core, delete: &DeleteWrite) -> Result<Attempt> {
    let filter = cx.routed(core.meta(), delete.filter.clone());
    let mut options = DeleteOptions::default();
    options.collation.clone_from(&delete.collation);
    options.hint = delete.hint.clone().map(Hint::Name);
    cx.trace.trip();
    let result = act!(&core, write, [core] core.raw().delete_many(filter).with_options(options));
    let result = result.map_err(|error| core.error(error))?;
    Ok(Attempt::done(Outcome::deleted(result.deleted_count)))
}

async fn insert(cx: Cx<'_>, core: Core, document: &RawDocumentBuf) -> Result<Attempt> {
    cx.trace.trip();
    let inserted = act!(&core, write, [core, document] core.raw().insert_one(document));
    inserted.map_err(|error| core.error(error))?;
    Ok(Attempt::done(Outcome::inserted(1)))
}

async fn delete_one(cx: Cx<'_>, core: Core, filter: &Document) -> Result<Attempt> {
    let filter = {
        // The future would keep a context that is borrowed until its end.
        let borrowed = cx;
        borrowed.trace.trip();
        borrowed.routed(core.meta(), filter.clone())
    };
    let result = act!(&core, write, [core] core.raw().delete_one(filter));
    let result = result.map_err(|error| core.error(error))?;
    Ok(Attempt::done(Outcome::deleted(result.deleted_count)))
}

/// Refuses the result of a write of the one document with this id that has met several.
fn met_one(core: &Core, id: Option<&Bson>, documents: u64) -> Result<()> {
    match id {
        Some(id) if documents > 1 => {
            let ids = vec![id.clone()];
            Err(not_unique(core.meta(), core.session(), ids, documents))
        }
        _ => Ok(()),
    }
}

async fn delete_first(cx: Cx<'_>, core: Core, filter: &Document, by: &Selection) -> Result<Attempt> {
    let filter = cx.routed(core.meta(), filter.clone());
    let mut options = FindOneAndDeleteOptions::default();
    select!(options, by);
    cx.trace.trip();
    let document = act!(&core, modify, [core] core.raw().find_one_and_delete(filter).with_options(options));
    let document = document.map_err(|error| core.error(error))?;
    let deleted = Outcome::deleted(document.is_some().into());
    Ok(Attempt::done(Outcome { document, ..deleted }))
}

/// Inserts documents that have nothing to do with others, from the buffer in which they were encoded.
pub(in crate::engine) async fn packed(
    cx: Cx<'_>,
    batching: Batching,
    meta: &'static DocumentMeta,
    documents: Packed,
) -> Result<Outcome> {
    let places: Vec<usize> = documents.positions().collect();
    if places.is_empty() {
        return Ok(Outcome::default());
    }
    let place = |at: usize| places.get(at).copied().unwrap_or(at);
    // By value: the driver copies each, and what it has copied is freed.
    let documents = documents.into_documents();
    insert_many(cx, batching.is_ordered(), meta, documents, places.len(), &place).await
}

/// Inserts documents. Those that the server refuses are [`Outcome::refusals`]; in a transaction, which a refusal ends, an [`Error::Bulk`].
/// `place` gives the position of a document that is sent among those that the application gave.
async fn insert_many<D: Serialize + Clone + Send + Sync + 'static>(
    cx: Cx<'_>,
    ordered: bool,
    meta: &'static DocumentMeta,
    documents: impl IntoIterator<Item = impl Borrow<D>>,
    sent: usize,
    place: &(dyn Fn(usize) -> usize + Send + Sync),
) -> Result<Outcome> {
    let core = &cx.application(meta);
    let target = core.raw().clone_with_type::<D>();
    // The driver splits what is too much for one command; it does not say into how many.
    cx.trace.trip();
    let inserted = act!(
        core,
        write,
        [documents = copies::<D>(documents)] target.insert_many(documents).ordered(ordered)
    );
    let refused = |errors, inserted| Outcome {
        refusals: Refusals { errors, ordered },
        ..Outcome::inserted(inserted)
    };
    let Err(error) = inserted else {
        return Ok(refused(Vec::new(), sent as u64));
    };
    match Context::new(meta).insert_many(error, sent, ordered) {
        Error::InsertMany { inserted, errors, .. } => {
            // A position in a reply is not trusted: it may be that of no document.
            let errors: Vec<(usize, Error)> =
                errors.into_iter().map(|(at, error)| (place(at), error)).collect();
            match core.session() {
                None => Ok(refused(errors, inserted as u64)),
                Some(_) => Err(Error::Bulk {
                    errors,
                    done: Box::new(BulkDone {
                        inserted: inserted as u64,
                        ..BulkDone::default()
                    }),
                }),
            }
        }
        other => Err(other),
    }
}

fn copies<D: Clone>(documents: impl IntoIterator<Item = impl Borrow<D>>) -> Vec<D> {
    documents
        .into_iter()
        .map(|document| document.borrow().clone())
        .collect()
}

async fn update(
    cx: Cx<'_>,
    core: Core,
    update: &UpdateWrite,
    (filter, modifications): UpdateStatement,
) -> Result<Attempt> {
    fill_one(cx, &core, update).await?;
    let filter = cx.routed(core.meta(), filter);
    cx.trace.trip();
    let options = update_options(&core, update);
    let result =
        act!(&core, write, [core] core.raw().update_one(filter, modifications).with_options(options));
    let result = result.map_err(|error| core.error(error))?;
    met_one(
        &core,
        update.one.as_ref().map(|one| &one.id),
        result.matched_count,
    )?;
    Ok(if result.matched_count > 0 || result.upserted_id.is_some() {
        Attempt::done(updated(result))
    } else {
        Attempt::Unmatched
    })
}

fn updated(result: UpdateResult) -> Outcome {
    Outcome {
        upserted: result.upserted_id,
        ..Outcome::counted(BulkDone {
            matched: result.matched_count,
            modified: result.modified_count,
            ..BulkDone::default()
        })
    }
}

/// The options of an update of one document, if it has any.
fn update_options(core: &Core, update: &UpdateWrite) -> Option<UpdateOptions> {
    if !update.upsert && update.built.array_filters.is_empty() {
        return None;
    }
    let mut options = UpdateOptions::default();
    options.upsert = update
        .upsert
        .then(|| update.refused_insert(core.meta()).is_none());
    options.array_filters = array_filters(&update.built);
    Some(options)
}

pub(super) fn array_filters(built: &Built) -> Option<Vec<Document>> {
    Some(built.array_filters.clone()).filter(|filters| !filters.is_empty())
}

/// Stores the defaults that an update begins with, where its statement can't.
async fn fill_one(cx: Cx<'_>, core: &Core, update: &UpdateWrite) -> Result<()> {
    match update.one.as_ref().filter(|_| update.built.fills_first()) {
        Some(one) => {
            let filled = fill(cx, core, &update.built, one.filter(core.meta()));
            filled.boxed().await
        }
        None => Ok(()),
    }
}

async fn update_field(cx: Cx<'_>, core: Core, update: &UpdateWrite, field: &str) -> Result<Attempt> {
    let filter = cx.routed(core.meta(), update.condition(core.meta()));
    let modifications = update.built.modifications();
    let mut options = FindOneAndUpdateOptions::default();
    options.projection = Some(doc! { field: 1 });
    if let Some(by) = &update.first {
        select!(options, by);
    }
    cx.trace.trip();
    let refused = |error| growth::add_sizes(core.error(error), &update.built.update);
    let found = act!(
        &core,
        modify,
        [core] core.raw().find_one_and_update(filter, modifications).with_options(options)
    );
    let found = found.map_err(refused)?;
    Ok(match found {
        Some(document) => Attempt::done(Outcome {
            document: Some(document),
            ..Outcome::unchanged()
        }),
        None => Attempt::Unmatched,
    })
}

async fn update_document(
    cx: Cx<'_>,
    core: Core,
    update: &UpdateWrite,
    which: &ReturnDocument,
) -> Result<Attempt> {
    fill_one(cx, &core, update).await?;
    let core = &core;
    let upsert = update.upsert && update.refused_insert(core.meta()).is_none();
    // The server's answer with the document as it is afterwards does not say whether it was inserted. Where something
    // follows from that, the insert is a command of its own.
    let is_before = matches!(which, ReturnDocument::Before);
    let apart = upsert && !is_before && core.odm().graph().is_related(core.meta());
    let filter = update.condition(core.meta());
    let mut found = find_and_update(cx, core, update, which, filter, upsert && !apart).await?;
    let mut inserted = upsert && is_before;
    if apart && found.is_none() {
        // An existing document is not changed: the server refuses a second one with its id.
        let mut filter = update.condition(core.meta());
        filter.insert(OWN, doc! { "$type": "minKey" });
        found = find_and_update(cx, core, update, which, filter, true).await?;
        inserted = true;
    }
    let id = || update.one.as_ref().map(|one| one.id.clone());
    let modified = || {
        Outcome::counted(BulkDone {
            modified: 1,
            ..BulkDone::default()
        })
    };
    Ok(match found {
        Some(document) => Attempt::Done(Done {
            // The rules ask for it next.
            after: (!is_before && core.session().is_some()).then(|| document.clone()),
            ..Outcome {
                upserted: (inserted && !is_before).then(id).flatten(),
                document: Some(document),
                ..modified()
            }
            .into()
        }),
        // Nothing was there before, and now it is.
        None if inserted => Attempt::done(Outcome {
            upserted: id(),
            ..modified()
        }),
        None => Attempt::Unmatched,
    })
}

async fn find_and_update(
    cx: Cx<'_>,
    core: &Core,
    update: &UpdateWrite,
    which: &ReturnDocument,
    filter: Document,
    upsert: bool,
) -> Result<Option<RawDocumentBuf>> {
    let modifications = update.built.modifications();
    let filter = cx.routed(core.meta(), filter);
    let mut options = FindOneAndUpdateOptions::default();
    options.return_document = Some(which.clone());
    if let Some(by) = &update.first {
        select!(options, by);
    }
    options.upsert = upsert.then_some(true);
    options.array_filters = array_filters(&update.built);
    // In a transaction the rules read the document too.
    if core.session().is_none() {
        options.projection = core.odm().without_deferred(core.meta(), &[]);
    }
    cx.trace.trip();
    let found = act!(
        core,
        modify,
        [core] core.raw().find_one_and_update(filter, modifications).with_options(options)
    );
    found.map_err(|error| core.error(error))
}

async fn update_many(cx: Cx<'_>, core: Core, update: &UpdateManyWrite) -> Result<Attempt> {
    let core = &core;
    if update.fills_first {
        fill(cx, core, &update.built, update.condition.clone()).await?;
    }
    let mut refused = count(cx, core, update.held.as_ref(), update).await?;
    // Which document it is that becomes too large, the server does not say.
    let too_large = |error| growth::add_sizes(error, &update.built.update);
    let idle = update
        .built
        .idle_among(update.condition.clone())
        .filter(|_| !update.upsert);
    if let Some(idle) = idle {
        let updated = bulk::update_and_count(cx, core, update, &idle).await;
        let (matched, modified) = updated.map_err(too_large)?;
        return Ok(Attempt::done(Outcome {
            refused,
            ..Outcome::counted(BulkDone {
                matched,
                modified,
                ..BulkDone::default()
            })
        }));
    }
    let had = count(cx, core, update.has.as_ref(), update).await?;
    let modifications = update.built.modifications();
    let filter = cx.routed(core.meta(), update.filter.clone());
    let refused_insert = update.refused_insert(core.meta());
    let mut options = UpdateOptions::default();
    options.upsert = (update.upsert && refused + had == 0 && refused_insert.is_none()).then_some(true);
    options.collation.clone_from(&update.collation);
    options.hint = update.hint.clone().map(Hint::Name);
    options.array_filters = array_filters(&update.built);
    let of_many = update.keys.is_empty();
    cx.trace.trip();
    let result = act!(core, write, [core] {
        let action = if of_many {
            core.raw().update_many(filter, modifications)
        } else {
            core.raw().update_one(filter, modifications)
        };
        action.with_options(options)
    });
    let result = result.map_err(|error| too_large(core.error(error)))?;
    if result.matched_count == 0 && result.upserted_id.is_none() {
        refused += count(cx, core, update.held_uncounted.as_ref(), update).await?;
    }
    if let Some(error) = refused_insert
        && result.matched_count + refused + had == 0
    {
        return Err(error);
    }
    let mut outcome = updated(result);
    outcome.counts.matched += had;
    outcome.refused = refused;
    Ok(Attempt::done(outcome))
}

/// Stores the defaults that a change begins with, in the documents that match this condition and that nothing else keeps from
/// being changed. A reader sees the same values before and after.
async fn fill(cx: Cx<'_>, core: &Core, built: &Built, condition: Document) -> Result<()> {
    let of_filled = |guard: &&Guard| {
        let path = guard.path();
        built.fills().iter().any(|fill| fill.path() == path)
    };
    let guards = built.guards.iter().filter(|guard| !of_filled(guard));
    let held = all([condition].into_iter().chain(guards.map(Guard::condition)));
    for fill in built.fills() {
        let filling = fill.filling();
        let filter = cx.routed(core.meta(), all([held.clone(), filling.condition]));
        let mut options = UpdateOptions::default();
        options.array_filters = Some(filling.array_filters).filter(|filters| !filters.is_empty());
        cx.trace.trip();
        let filled = act!(
            core,
            write,
            [core] core.raw().update_many(filter, filling.update).with_options(options)
        );
        filled.map_err(|error| core.error(error))?;
    }
    Ok(())
}

/// Sends a replacement. The `created_at` of the given document is nearly always the stored one, so it is part of the filter: then the
/// result is known without a read.
async fn replace(
    cx: Cx<'_>,
    core: Core,
    replace: &ReplaceWrite,
    statement: Option<UpdateStatement>,
) -> Result<Attempt> {
    let made = replace.replacement(core.meta())?;
    let (filter, update) =
        statement.unwrap_or_else(|| (replace.one.filter(core.meta()), made.update.clone()));
    let filter = cx.routed(core.meta(), within_time(filter, replace, &made));
    cx.trace.trip();
    let result = act!(&core, write, [core] core.raw().update_one(filter, update));
    let result = result.map_err(|error| too_large(core.error(error), &made))?;
    met_one(&core, Some(&replace.one.id), result.matched_count)?;
    if result.matched_count != 1 {
        return Ok(Attempt::Unmatched);
    }
    if made.is_whole {
        return Ok(Attempt::done(replaced(replaced_whole(replace, &made)?)));
    }
    // Not by one command with the write: of a sharded collection it takes only what names a shard key.
    let filter = cx.routed(core.meta(), replace.one.place());
    let options = core.on_primary();
    cx.trace.trip();
    let stored = act!(&core, own, [core] core.raw().find_one(filter).with_options(options));
    let stored = stored.map_err(|error| match core.session() {
        Some(_) => core.error(error),
        // The replacement was made.
        None => core.error(error).after_a_part(core.meta().collection),
    })?;
    Ok(Attempt::done(replaced(
        stored.or_else(|| replace.changed.then(|| made.document.clone())),
    )))
}

/// The condition of a replacement, with the time at which the document was made.
pub(super) fn within_time(mut filter: Document, replace: &ReplaceWrite, made: &Replacement) -> Document {
    let by_time = replace.created.is_none() && made.is_whole;
    filter.extend(made.created.clone().filter(|_| by_time));
    filter
}

/// Says how large the document is: with what it keeps of the stored one it is larger than it was when it was looked at.
pub(super) fn too_large(mut error: Error, made: &Replacement) -> Error {
    if let Error::TooLarge { largest, .. } = &mut error {
        *largest = bounds::largest(&made.document);
    }
    error
}

/// The whole document of a replacement, where it is another one than the application gave.
pub(super) fn replaced_whole(replace: &ReplaceWrite, made: &Replacement) -> Result<Option<RawDocumentBuf>> {
    Ok(match &replace.created {
        Some((name, Some(created))) => Some(made.with(name.clone(), created.clone())?),
        _ => replace.changed.then(|| made.document.clone()),
    })
}

pub(super) fn replaced(document: Option<RawDocumentBuf>) -> Outcome {
    Outcome {
        document,
        ..Outcome::changed()
    }
}

/// The number of documents that match a condition of an update, beside its own.
pub(in crate::engine) async fn count(
    cx: Cx<'_>,
    core: &Core,
    condition: Option<&Document>,
    update: &UpdateManyWrite,
) -> Result<u64> {
    let Some(condition) = condition else { return Ok(0) };
    let condition = cx.routed(core.meta(), condition.clone());
    let mut options = CountOptions::default();
    options.collation.clone_from(&update.collation);
    if core.session().is_none() {
        options.selection_criteria = Some(PRIMARY);
        options.read_concern = Some(ReadConcern::local());
    }
    cx.trace.trip();
    let count = act!(core, own, [core] core.raw().count_documents(condition).with_options(options));
    count.map_err(|error| core.error(error))
}
